#pragma once

#include <string>

#include "data/lmdb/dataset_names.h"

namespace cortado::data {

/// A folder with a training and a test set, built aside (`path.tmp.PID`) and put in place whole: until commit()
/// returns, `path` does not exist or is what it was.
class TwoSetsFolder {
 public:
  /// Throws Error(kIo) when the folder cannot be made, or when `path` exists and `replace` is false. An existing `path`
  /// is replaced only if it is such a folder, or empty.
  TwoSetsFolder(const std::string& path, bool replace);
  ~TwoSetsFolder();  ///< without commit(): removes what was built
  TwoSetsFolder(const TwoSetsFolder&) = delete;
  TwoSetsFolder& operator=(const TwoSetsFolder&) = delete;

  std::string part(const std::string& name) const;  ///< where to build one of the databases
  /// Writes the classes' names, where there are some, and puts the folder in place. Throws Error(kIo).
  void commit(const DatasetNames& names);

 private:
  std::string path_, temporary_;
  bool replace_;
};

}  // namespace cortado::data

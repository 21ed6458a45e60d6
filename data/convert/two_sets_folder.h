#pragma once

#include <string>

#include "core/forks.h"
#include "data/lmdb/dataset_names.h"

namespace cortado::data {

/// A folder with a training and a test set. It is built in `path.tmp.PID` and renamed when complete: until commit()
/// returns, `path` does not exist or is unchanged.
class TwoSetsFolder {
 public:
  /// Throws Error(kIo) if the folder cannot be created, or if `path` exists and `replace` is false. An existing `path`
  /// is replaced only if it is a folder of this kind, or empty.
  TwoSetsFolder(const std::string& path, bool replace);
  ~TwoSetsFolder();  ///< without commit(): removes the temporary folder
  TwoSetsFolder(const TwoSetsFolder&) = delete;
  TwoSetsFolder& operator=(const TwoSetsFolder&) = delete;

  std::string part(const std::string& name) const;  ///< the temporary path of one of the databases
  /// Writes the classes' names, if any, and renames the folder to `path`. Throws Error(kIo).
  void commit(const DatasetNames& names);

 private:
  std::string path_, temporary_;
  MadeHere made_here_;
  bool replace_;
};

}  // namespace cortado::data

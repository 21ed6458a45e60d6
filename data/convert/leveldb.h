#pragma once

// Reads a LevelDB for conversion; Caffe creates these if no backend is named. The program `cortado-leveldb` in the same
// folder reads it with libleveldb. libleveldb does not run in this process, because a damaged database may crash it,
// and the output of the program is validated. Nothing is written to the folder, and no lock is taken.

#include <memory>
#include <string>
#include <string_view>

#include "formats/helper_process.h"

namespace cortado::data {

class Leveldb {
 public:
  /// Throws Error(kIo) if the folder's CURRENT cannot be read, Error(kData) if it is not a LevelDB, is damaged, or this
  /// build has no LevelDB support.
  explicit Leveldb(const std::string& folder);

  /// Reads the next record in key order; returns false at the end. The views are valid until the next call. Throws
  /// Error(kData) with the folder.
  bool next(std::string_view& key, std::string_view& value);

 private:
  bool take(std::string& out, size_t n);
  [[noreturn]] void fail(const std::string& what) const;

  std::string folder_;
  std::unique_ptr<HelperProcess> process_;
  std::string head_, record_, last_key_;
  bool any_ = false;
};

}  // namespace cortado::data

#pragma once

// Reading a LevelDB, to convert it: what Caffe makes where no backend is named. The program `cortado-leveldb` beside
// this one reads it by libleveldb, which never runs here: a damaged database may make it crash, and what comes back is
// checked. Nothing is written to the folder, and no lock is taken.

#include <memory>
#include <string>
#include <string_view>

#include "formats/helper_process.h"

namespace cortado::data {

class Leveldb {
 public:
  /// Throws Error(kIo) where the folder's CURRENT cannot be read, Error(kData) where it is no LevelDB, is damaged, or
  /// this build has no LevelDB.
  explicit Leveldb(const std::string& folder);

  /// The next record by rising key; false behind the last. Views last until the next call. Throws Error(kData) naming
  /// the folder.
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

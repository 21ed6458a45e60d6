#pragma once

// LevelDB's log files: the newest writes, and the list of tables (MANIFEST). A file is blocks of 32 KiB; in them are
// fragments of records:
//   u32 checksum of all that follows but the length, u16 length, u8 kind (1 whole, 2 first, 3 middle, 4 last), bytes

#include <string>

#include "core/mapped_file.h"

namespace cortado::data {

class LeveldbLog {
 public:
  explicit LeveldbLog(const std::string& path) : file_(path) {}  ///< throws Error(kIo)

  /// The next record; false behind the last. What a writer had not finished at the file's end is none. Throws
  /// Error(kData).
  bool next(std::string& record);

 private:
  /// The next fragment's kind, or 0 at the end.
  int fragment(std::string_view& bytes);

  MappedFile file_;
  int64_t at_ = 0;
};

}  // namespace cortado::data

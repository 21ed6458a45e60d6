#pragma once

// LMDB has no checksums: a bit flipped in a pixel is another pixel. Databases made here have a file `checksums` beside
// data.mdb, with the CRC-32C of every page, which readers compare with a page before they use it for the first time.
//
//   head    16 bytes "cortado crc32c 1", u32 page size, u32 0, u64 pages
//           for both meta pages: u64 transaction, u32 CRC-32C of the page but for that number, u32 0
//           u32 CRC-32C of the numbers below, u32 CRC-32C of the head up to here
//   then    u32 for each page of data.mdb: its CRC-32C
//
// Another program may write to the database later, and knows nothing of this. Its meta pages tell: each commit writes
// one of them, with the next transaction's number. So the file is out of date where one has another content and a later
// number, or both have another content; where nothing but a number changed, or a content whose number did not rise,
// that was no commit. Checksums that are out of date are left aside, with a warning.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "core/files/mapped_file.h"
#include "data/lmdb/dataset_names.h"

namespace cortado::data {

class PageChecksums {
 public:
  enum class State { kCurrent, kOutdated, kDamagedMeta };

  /// Those of the database whose data file is `data`. Null where it has none, or where they cannot be used: then with
  /// a warning. Throws Error(kIo) where they cannot be read.
  static std::unique_ptr<const PageChecksums> beside(const MappedFile& data, int64_t page_size);

  /// What the meta pages say about them.
  State state() const { return state_; }
  /// Whether pages first to first + count - 1, which lie in the file, are what they were. They are looked at once; a
  /// run of pages is always asked for as a whole.
  bool agree(uint64_t first, uint64_t count) const;

  explicit PageChecksums(const MappedFile& data);  ///< use beside()

 private:
  std::string read_head(int64_t page_size);
  State state_of_metas() const;
  bool is_whole() const;

  const MappedFile& data_;
  MappedFile file_;
  int64_t page_size_ = 0;
  uint64_t pages_ = 0;
  State state_ = State::kCurrent;
  std::unique_ptr<std::atomic<uint8_t>[]> seen_;  ///< a bit for each page
};

/// Writes those of the closed database in `folder`. Throws Error(kIo).
void write_page_checksums(const std::string& folder);

/// The files that a folder of a dataset made here may hold.
inline constexpr const char* kLmdbFiles[] = {"data.mdb", "lock.mdb", "checksums", kLabelsPart, kLabelMapPart};
bool is_lmdb_file(const std::string& name);

}  // namespace cortado::data

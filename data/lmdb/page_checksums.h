#pragma once

// LMDB has no checksums, so a flipped bit in a pixel is not detected. Databases written by this program have a file
// `checksums` next to data.mdb, with the CRC-32C of every page. Readers verify each page before its first use.
//
//   head    16 bytes "cortado crc32c 1", u32 page size, u32 0, u64 pages
//           for both meta pages: u64 transaction, u32 CRC-32C of the page without that number, u32 0
//           u32 CRC-32C of the numbers below, u32 CRC-32C of the head up to here
//   then    u32 for each page of data.mdb: its CRC-32C
//
// Another program may write to the database later without updating this file. The meta pages show it: each commit
// writes one of them, with the next transaction number. So the file is outdated if one meta page has another content
// and a higher number, or if both have another content. If only a number changed, or the content changed without a
// higher number, that was not a commit but damage. Outdated checksums are ignored with a warning.

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

  /// The checksums of the database whose data file is `data`. Null if it has none, or, with a warning, if they are
  /// unusable. Throws Error(kIo) if they cannot be read.
  static std::unique_ptr<const PageChecksums> beside(const MappedFile& data, int64_t page_size);

  /// The result of comparing the meta pages.
  State state() const { return state_; }
  /// Whether pages first to first + count - 1, which must be in the file, match their checksums. They are checked once;
  /// a run of pages must always be checked as a whole.
  bool agree(uint64_t first, uint64_t count) const;

  explicit PageChecksums(const MappedFile& data);  ///< use the function above

 private:
  std::string read_head(int64_t page_size);
  State state_of_metas() const;
  bool is_whole() const;

  const MappedFile& data_;
  MappedFile file_;
  int64_t page_size_ = 0;
  uint64_t pages_ = 0;
  State state_ = State::kCurrent;
  std::unique_ptr<std::atomic<uint8_t>[]> seen_;  ///< one bit per page
};

/// Writes the checksums of the closed database in `folder`. Throws Error(kIo).
void write_page_checksums(const std::string& folder);

/// The possible files in a folder of a dataset that this program wrote.
inline constexpr const char* kLmdbFiles[] = {"data.mdb", "lock.mdb", "checksums", kLabelsPart, kLabelMapPart};
bool is_lmdb_file(const std::string& name);

}  // namespace cortado::data

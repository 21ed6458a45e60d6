#pragma once

// A reader for LMDB databases, about as small as the code that would protect against the library.
//
// Format (lmdb 0.9, 64 bit): pages of one size. Pages 0 and 1 are "meta" pages, of which the one with the later
// transaction is valid. It points to the root of a B+ tree of branch and leaf pages. Values that do not fit into a leaf
// have their own overflow pages.
//
// Reasons not to use the library: it trusts the file (a flipped bit causes a segmentation fault), does not allow
// opening a file twice in a process, and needs a writable lock file. This reader checks every offset, takes no lock and
// writes nothing, so it works on read-only and network disks. The cost: writers do not see the reader, so it has to
// detect itself whether the database was changed, and reports it.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/files/mapped_file.h"
#include "data/lmdb/page_checksums.h"
#include "data/record.h"

namespace cortado::data {

/// An open database: the main tree of `data.mdb` at one moment. Shared, immutable, thread-safe.
class Lmdb {
 public:
  /// Opens the folder (or data.mdb file) at `path`. A database that the process has already open is shared, even under
  /// another name. Throws Error(kIo) if it is missing or unreadable, Error(kData) if it is a LevelDB, truncated, not a
  /// database, of an unsupported kind (duplicate keys, named databases) or empty; each with a hint.
  static std::shared_ptr<const Lmdb> open(const std::string& path);
  Lmdb(const std::string& path, const std::string& file);  ///< use open(); `file` is the data file itself

  int64_t records() const { return records_; }       ///< at least 1
  int64_t bytes() const { return file_.size(); }     ///< of the file
  const std::string& path() const { return path_; }  ///< as first opened
  /// Announces random reads: prefetch() is then worth a system call.
  void expect_random_reads() const;
  /// Loads a record's bytes into memory at once, so that later reads do not wait for page faults.
  void prefetch(const Record& record) const;
  /// Starts to read a part of the file, between two records, without waiting.
  void read_ahead(std::string_view part) const { file_.will_need(part); }

  /// Throws Error(kData) if the file was truncated or changed since it was opened. Cheap; call it after reading
  /// records.
  void check_unchanged() const;

  /// The record at an LmdbCursor::position(), checked.
  Record record_at(uint64_t position) const;
  /// The same without checking the value; check() does that.
  Record locate(uint64_t position) const;
  /// Throws Error(kData) if the record differs from what was written, if the database has checksums (page_checksums.h).
  /// Each page is checked once.
  void check(const Record& record) const;
  bool is_whole(const Record& record) const;  ///< false if check() would throw
  /// The record at about this fraction (below 1) of the database, like locate(). Reads one page of each level.
  Record record_near(double share) const;

 private:
  friend class LmdbCursor;
  struct Page;

  void choose_meta();
  uint64_t transaction(int meta) const;
  void verify() const;
  const uint8_t* page_bytes(uint64_t number) const;
  void check_page(uint64_t number) const;
  Page page(uint64_t number, bool leaf) const;
  const uint8_t* node(const Page& page, int entry) const;
  uint64_t child(uint64_t page, int entry) const;
  const uint8_t* big_value(uint64_t first_page, uint64_t size) const;
  [[noreturn]] void fail_cut_off() const;
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void refuse(const std::string& what, const std::string& hint) const;
  void refuse_other_forms() const;

  MappedFile file_;
  std::unique_ptr<const PageChecksums> checksums_;  ///< null if it has none
  std::string path_;
  int64_t page_size_ = 0, records_ = 0;
  uint64_t root_ = 0, last_page_ = 0, transaction_ = 0;
  int depth_ = 0;
  mutable std::atomic<bool> random_ = false;
};

/// Iterates over a database in key order. Not thread-safe; allocates nothing.
class LmdbCursor {
 public:
  explicit LmdbCursor(std::shared_ptr<const Lmdb> database);

  /// The next record, checked; after the last one, the first. Throws Error(kData) if the tree is damaged.
  Record next();
  Record locate_next();  ///< the same, like Lmdb::locate()
  /// Makes record `index` (0 is the first; below records()) the next one. Reads the headers of leaves up to it.
  void seek(int64_t index);
  /// The position of the next record, for Lmdb::record_at(). It has eight bytes and replaces a key.
  uint64_t position();
  /// Skips the record at position() without reading it. Throws Error(kData) if there are records after the last one.
  void skip();

 private:
  friend class Lmdb;
  static constexpr int kMaxLevels = 32;
  struct Level {
    uint64_t page = 0;
    int entry = 0, entries = 0;
  };

  void descend(uint64_t number, int level);
  void next_leaf();
  void check_at_end();
  Level& leaf();

  std::shared_ptr<const Lmdb> database_;
  Level levels_[kMaxLevels];
  int64_t index_ = 0;  ///< of the next record; records() at the end
};

}  // namespace cortado::data

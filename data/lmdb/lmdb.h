#pragma once

// Reading LMDB databases with a reader of our own, about as small as the code that would guard the library's.
// The format (lmdb 0.9, 64 bit): pages of one size; pages 0 and 1 are "meta" pages, the one with the later transaction
// counts; it names the root of a B+ tree of branch and leaf pages; values too big for a leaf have overflow pages of
// their own. Why not the library: it trusts the file (a flipped bit is a segmentation fault), forbids opening one file
// twice in a process, and needs a writable lock file. This reader checks every offset before it is followed, takes no
// lock, writes nothing, and so works on read-only and network disks. The price: a writer does not see it, so it looks
// itself whether the database was changed under it, and says so.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/files/mapped_file.h"
#include "data/lmdb/page_checksums.h"
#include "data/record.h"

namespace cortado::data {

/// An open database: the main tree of `data.mdb`, at one moment. Shared, immutable, safe to use from any thread.
class Lmdb {
 public:
  /// Opens the folder (or data.mdb file) at `path`; one that the process has open already is shared, whatever name it
  /// is opened by. Throws Error(kIo) when it is missing or unreadable, Error(kData) when it is a LevelDB, cut off, not
  /// a database, of an unsupported kind (duplicate keys, named databases) or empty; with a hint each.
  static std::shared_ptr<const Lmdb> open(const std::string& path);
  Lmdb(const std::string& path, const std::string& file);  ///< use open(); `file` is the data file itself

  int64_t records() const { return records_; }       ///< at least 1
  int64_t bytes() const { return file_.size(); }     ///< of the file
  const std::string& path() const { return path_; }  ///< as first opened
  /// Records will be taken from random places: prefetch() is then worth a system call.
  void expect_random_reads() const;
  /// Brings a record's bytes to memory, all at once, so that reading them afterwards does not wait page by page.
  void prefetch(const Record& record) const;
  /// Starts to read a part of the file, between two records, and does not wait for it.
  void read_ahead(std::string_view part) const { file_.will_need(part); }

  /// Throws Error(kData) when the file was cut off or changed since it was opened. Cheap: call it after reading
  /// records.
  void check_unchanged() const;

  /// The record of one entry of a leaf page, as told by LmdbCursor::position(), checked.
  Record record_at(uint64_t position) const;
  /// The same where the value is not wanted yet: check() checks it.
  Record locate(uint64_t position) const;
  /// Throws Error(kData) where the record is not what was written, as far as the database has checksums
  /// (page_checksums.h). Each page is looked at once.
  void check(const Record& record) const;
  bool is_whole(const Record& record) const;  ///< or else check() throws
  /// A record about that share (below 1) of all of them from the first one, as by locate(). Reads one page of each
  /// level.
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

  MappedFile file_;
  std::unique_ptr<const PageChecksums> checksums_;  ///< null: there are none
  std::string path_;
  int64_t page_size_ = 0, records_ = 0;
  uint64_t root_ = 0, last_page_ = 0, transaction_ = 0;
  int depth_ = 0;
  mutable std::atomic<bool> random_ = false;
};

/// Walks a database in key order. Not thread-safe; allocates nothing.
class LmdbCursor {
 public:
  explicit LmdbCursor(std::shared_ptr<const Lmdb> database);

  /// The next record, checked; after the last one, the first. Throws Error(kData) when the tree is broken.
  Record next();
  Record locate_next();  ///< the same, by Lmdb::locate()
  /// Makes record `index` (0 is the first; below records()) the one that next() returns. Reads leaf headers up to
  /// there.
  void seek(int64_t index);
  /// Where the record that next() would return lies; for Lmdb::record_at(). Eight bytes that replace a key.
  uint64_t position();
  /// Passes over the record at position(), without reading it. Throws Error(kData) where more follow the last one.
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
  int64_t index_ = 0;  ///< of the record that next() returns; records() when past the last
};

}  // namespace cortado::data

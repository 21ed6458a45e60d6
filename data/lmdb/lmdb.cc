// Opening a database: selects the valid meta page and makes every check that is possible before a record is read.
// lmdb_cursor.cc iterates over the tree.
#include "data/lmdb/lmdb.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "core/error.h"
#include "core/files/file.h"
#include "data/lmdb/folder_exchange.h"
#include "data/lmdb/lmdb_page.h"

namespace cortado::data {

namespace {

constexpr uint32_t kLmdbMagic = 0xBEEFC0DE, kVersion = 1;
constexpr int64_t kLmdbMetaBytes = 136;
constexpr int64_t kLeastRecordBytes = 11;  // a pointer of 2, a node header of 8 and a key of 1
constexpr uint64_t kNoPage = ~uint64_t(0);

// Offsets inside a meta page. Two table descriptions of 48 bytes follow the head: free pages and the main table.
enum MetaField : int {
  kMetaMagic = 16,
  kMetaVersion = 20,
  kMetaPageSize = 40,
  kMetaMainTable = 88,
  kMetaLastPage = 136,
  kMetaTransaction = 144
};
enum TableField : int { kTableFlags = 4, kTableDepth = 6, kTableRecords = 32, kTableRoot = 40 };

/// MDB_REVERSEKEY and MDB_INTEGERKEY change the order of keys only, which the tree already has.
enum TableFlag : uint16_t { kReverseKeys = 0x02, kDuplicateKeys = 0x04, kIntegerKeys = 0x08 };

[[noreturn]] void fail_to_open(ExitCode code, const std::string& path, const std::string& what,
                               const std::string& hint) {
  throw file_error(code, path, what, hint);
}

/// The data file of a dataset, which is specified by its folder or by the file.
std::string data_file_of(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    fail_to_open(ExitCode::kIo, path, std::string("cannot open the dataset: ") + std::strerror(errno),
                 file_exists(replaced_folder(path))
                     ? "a conversion that was replacing it was interrupted: run `mv " + replaced_folder(path) + " " +
                           path + "` to restore it"
                     : "use a path relative to the working folder; `cortado convert` creates datasets");
  if (!S_ISDIR(info.st_mode)) return path;
  const std::string file = join_path(path, "data.mdb");
  if (file_exists(file)) return file;
  if (file_exists(join_path(path, "CURRENT")))
    fail_to_open(ExitCode::kData, path, "this is a LevelDB, but only LMDB is supported",
                 "convert it: `cortado convert leveldb " + path + " LMDB`");
  fail_to_open(ExitCode::kData, path, "not a dataset: data.mdb is missing", "create a dataset by `cortado convert`");
}

}  // namespace

std::shared_ptr<const Lmdb> Lmdb::open(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::pair<dev_t, ino_t>, std::weak_ptr<const Lmdb>> registry;

  const std::string file = data_file_of(path);
  struct stat info;
  if (::stat(file.c_str(), &info) != 0)
    fail_to_open(ExitCode::kIo, file, std::string("cannot read: ") + std::strerror(errno), {});
  const std::lock_guard lock(mutex);
  std::weak_ptr<const Lmdb>& slot = registry[{info.st_dev, info.st_ino}];
  std::shared_ptr<const Lmdb> database = slot.lock();
  if (!database) slot = database = std::make_shared<const Lmdb>(path, file);
  return database;
}

Lmdb::Lmdb(const std::string& path, const std::string& file) : file_(file), path_(path) {
  choose_meta();
  checksums_ = PageChecksums::beside(file_, page_size_);
  if (checksums_ && checksums_->state() == PageChecksums::State::kDamagedMeta)
    fail("its header does not match its checksum");
  if (records_ == 0)
    fail_to_open(ExitCode::kData, path_, "0 records in " + path_,
                 "the dataset is empty: create it again by `cortado convert`");
  // A database may be shorter than its header states if its last pages are free. Only an iteration shows this.
  const bool shorter = last_page_ >= uint64_t(file_.size() / page_size_);
  const bool too_many = records_ < 0 || records_ > file_.size() / kLeastRecordBytes;
  if (shorter && too_many) fail_cut_off();
  if (too_many || root_ == kNoPage || depth_ < 1 || depth_ > LmdbCursor::kMaxLevels) fail("its header is damaged");
  if (shorter) verify();
}

uint64_t Lmdb::transaction(int meta) const {
  const volatile uint8_t* at = file_.data() + meta * page_size_ + kMetaTransaction;
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | at[i];
  return value;
}

void Lmdb::choose_meta() {
  const uint8_t* head = file_.data();
  refuse_other_forms();
  if (file_.size() < 16 + kLmdbMetaBytes || load<uint32_t>(head + kMetaMagic) != kLmdbMagic)
    fail_to_open(ExitCode::kData, path_, "not an LMDB database", "create a dataset by `cortado convert`");
  page_size_ = load<uint32_t>(head + kMetaPageSize);
  if (page_size_ < 512 || page_size_ > 32768 || (page_size_ & (page_size_ - 1)) != 0) fail("its header is damaged");
  if (file_.size() < 2 * page_size_) fail("the file is truncated");
  for (int meta = 0; meta < 2; ++meta) {
    const uint8_t* page = head + meta * page_size_;
    if (load<uint32_t>(page + kMetaMagic) != kLmdbMagic || load<uint32_t>(page + kMetaPageSize) != page_size_)
      fail("its header is damaged");
    if (const uint32_t version = load<uint32_t>(page + kMetaVersion); version != kVersion)
      refuse("its format is version " + std::to_string(version) + ", not 1",
             "copy it into a database of LMDB 0.9, by its programs `mdb_dump` and `mdb_load`");
  }
  const int meta = transaction(1) > transaction(0) ? 1 : 0;
  const uint8_t* page = head + meta * page_size_;
  const uint8_t* table = page + kMetaMainTable;
  transaction_ = transaction(meta);
  last_page_ = load<uint64_t>(page + kMetaLastPage);
  const uint16_t flags = load<uint16_t>(table + kTableFlags);
  if (flags & kDuplicateKeys)
    refuse("its keys can have several values (MDB_DUPSORT)",
           "copy it into a database without MDB_DUPSORT, in which each record has its own key");
  if ((flags & ~(kReverseKeys | kIntegerKeys)) != 0) fail("its header is damaged");
  depth_ = load<uint16_t>(table + kTableDepth);
  records_ = load<int64_t>(table + kTableRecords);
  root_ = load<uint64_t>(table + kTableRoot);
}

/// Files from machines with other numbers have the magic number elsewhere, or reversed.
void Lmdb::refuse_other_forms() const {
  constexpr int kMagicOf32Bit = 12;
  if (file_.size() < 16 + kLmdbMetaBytes || load<uint32_t>(file_.data() + kMetaMagic) == kLmdbMagic) return;
  const std::string hint = "run `mdb_dump` there, and `mdb_load` here on its output";
  if (load<uint32_t>(file_.data() + kMagicOf32Bit) == kLmdbMagic)
    refuse("it is from a program or machine of 32 bits", hint);
  if (__builtin_bswap32(load<uint32_t>(file_.data() + kMetaMagic)) == kLmdbMagic)
    refuse("it is from a big-endian machine", hint);
}

void Lmdb::verify() const {
  LmdbCursor cursor(std::shared_ptr<const Lmdb>(std::shared_ptr<const Lmdb>(), this));  // not owned: under construction
  for (int64_t i = 0; i < records_; ++i) cursor.locate_next();
}

void Lmdb::check_unchanged() const {
  if (file_.damaged()) fail("damaged");
  if (std::max(transaction(0), transaction(1)) == transaction_) return;
  throw file_error(ExitCode::kData, path_, "the database was changed by another process while it was being read",
                   "write to a copy, or wait until the training ends");
}

void Lmdb::expect_random_reads() const {
  file_.expect_random_reads();
  random_.store(true, std::memory_order_relaxed);
}

void Lmdb::prefetch(const Record& record) const {
  if (random_.load(std::memory_order_relaxed)) file_.will_need(record.value);
  constexpr size_t kStep = 4096;
  const volatile char* bytes = record.value.data();
  for (size_t at = 0; at < record.value.size(); at += kStep) (void)bytes[at];
}

/// A value directly after the head of a page has its own overflow pages, because in a leaf there are pointers before
/// it.
bool Lmdb::is_whole(const Record& record) const {
  if (!checksums_) return true;
  const int64_t at = reinterpret_cast<const uint8_t*>(record.value.data()) - file_.data(), page = at / page_size_;
  const int64_t bytes = at - page * page_size_ == kPageHead ? kPageHead + int64_t(record.value.size()) : 1;
  return checksums_->agree(uint64_t(page), uint64_t((bytes + page_size_ - 1) / page_size_)) &&
         (bytes == 1 || is_whole({record.key, record.key}));
}

void Lmdb::check(const Record& record) const {
  if (is_whole(record)) return;
  check_unchanged();
  std::string key(record.key.substr(0, 200));
  std::replace_if(
      key.begin(), key.end(), [](unsigned char c) { return c < ' ' || c == 127; }, '?');
  fail("record '" + key + "' does not match its checksum");
}

void Lmdb::check_page(uint64_t number) const {
  if (!checksums_ || checksums_->agree(number, 1)) return;
  check_unchanged();
  fail("page " + std::to_string(number) + " does not match its checksum");
}

void Lmdb::fail_cut_off() const {
  fail("the file is truncated: it has " + std::to_string(file_.size()) + " bytes of " +
       std::to_string((last_page_ + 1) * uint64_t(page_size_)));
}

/// For a database that other programs can read.
void Lmdb::refuse(const std::string& what, const std::string& hint) const {
  throw file_error(ExitCode::kData, path_, "this LMDB database is not supported: " + what, hint);
}

void Lmdb::fail(const std::string& what) const {
  if (file_.damaged())
    throw file_error(ExitCode::kData, path_, "the file was truncated, or its disk failed, while it was being read",
                     "restore the dataset and resume from the last snapshot");
  throw file_error(ExitCode::kData, path_, "damaged LMDB database: " + what,
                   "copy the dataset again, or create it again by `cortado convert`");
}

}  // namespace cortado::data

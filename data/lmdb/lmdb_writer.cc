// Entries are collected and written in transactions of some megabytes. If the map is full, the transaction is aborted,
// the map is doubled and the same entries are written again, as long as the disk has space.
#include "data/lmdb/lmdb_writer.h"

#include <lmdb.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/error.h"
#include "core/files/file.h"
#include "core/files/made_folders.h"
#include "data/lmdb/folder_exchange.h"
#include "data/lmdb/page_checksums.h"

namespace cortado::data {

namespace {

constexpr int64_t kBytesPerTransaction = 16 << 20;

[[noreturn]] void fail_on_lmdb(ExitCode code, const std::string& path, const std::string& what,
                               const std::string& hint = {}) {
  throw file_error(code, path, what, hint);
}

/// After a partial write, for example with a full disk, the library only reports a failure.
[[noreturn]] void fail_to_write(const std::string& path, int status) {
  std::error_code unknown;
  const std::filesystem::path folder = folder_of(path);
  const auto room = std::filesystem::space(folder.empty() ? "." : folder, unknown).available;
  fail_on_lmdb(
      ExitCode::kIo, path, std::string("cannot write the dataset: ") + ::mdb_strerror(status),
      status == EIO && !unknown ? "is the disk full? " + std::to_string(room >> 20) + " MiB are free there" : "");
}

/// Only a database or an empty folder is ever replaced.
void check_target(const std::string& path, bool replace) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) return;
  if (!replace)
    fail_on_lmdb(ExitCode::kIo, path, "exists already", "choose another name, or use --force to replace it");
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    const std::string name = entry.path().filename();
    if (!is_lmdb_file(name))
      fail_on_lmdb(ExitCode::kIo, path, "contains other files than an LMDB, so it is not replaced");
  }
  if (error) fail_on_lmdb(ExitCode::kIo, path, "is not a folder that can be replaced: " + error.message());
}

/// Keeps the folder if it contains other files.
void remove_lmdb(const std::string& folder) {
  for (const char* file : kLmdbFiles) ::remove(join_path(folder, file).c_str());
  ::remove(folder.c_str());
}

}  // namespace

LmdbWriter::LmdbWriter(const std::string& path, bool replace, DatasetNames names)
    : path_(without_trailing_slashes(path)),
      temporary_(temporary_beside(path_)),
      replace_(replace),
      names_(std::move(names)) {
  if (path_.empty()) fail_on_lmdb(ExitCode::kIo, path_, "a dataset needs a name");
  recover_folder(path_, remove_lmdb);
  check_target(path_, replace_);
  check_names_beside(path_, names_, replace_);
  remove_leftovers(path_);
  std::error_code ignored;
  std::filesystem::remove_all(temporary_, ignored);
  if (::mkdir(temporary_.c_str(), 0777) != 0) {
    const std::string why = errno == ENOENT ? "cannot find the folder " + folder_of(path_) : std::strerror(errno);
    fail_on_lmdb(ExitCode::kIo, path_, "cannot create the dataset: " + why);
  }
  // No other process knows the folder yet, so no lock file is needed, and one sync at the end is enough.
  int status = ::mdb_env_create(&env_);
  if (status == 0) status = ::mdb_env_set_mapsize(env_, map_size_);
  if (status == 0) status = ::mdb_env_open(env_, temporary_.c_str(), MDB_NOSYNC | MDB_NOLOCK | MDB_NOTLS, 0666);
  if (status == 0) return;
  close();
  fail_on_lmdb(ExitCode::kIo, path_, std::string("cannot create the dataset: ") + ::mdb_strerror(status));
}

LmdbWriter::~LmdbWriter() {
  if (made_here_) close();
}

void LmdbWriter::close() {
  if (env_ != nullptr) ::mdb_env_close(std::exchange(env_, nullptr));
  if (temporary_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(temporary_, ignored);
  temporary_.clear();
}

void LmdbWriter::put(std::string_view key, std::string_view value) {
  if (key.empty() || key.size() > kMaxKeyBytes)
    fail_on_lmdb(ExitCode::kData, path_,
                 "the key '" + std::string(key.substr(0, 80)) + "' has " + std::to_string(key.size()) +
                     " bytes; the limits of LMDB are 1 to " + std::to_string(kMaxKeyBytes));
  pending_.push_back({std::string(key), std::string(value)});
  pending_bytes_ += int64_t(key.size() + value.size());
  ++records_;
  if (pending_bytes_ >= kBytesPerTransaction) flush();
}

int LmdbWriter::write_pending() {
  MDB_txn* transaction = nullptr;
  int status = ::mdb_txn_begin(env_, nullptr, 0, &transaction);
  if (status != 0) return status;
  std::string last = last_key_;
  status = ::mdb_dbi_open(transaction, nullptr, 0, &table_);
  for (size_t i = 0; i < pending_.size() && status == 0; ++i) {
    const Entry& entry = pending_[i];
    MDB_val key{entry.key.size(), const_cast<char*>(entry.key.data())};
    MDB_val value{entry.value.size(), const_cast<char*>(entry.value.data())};
    const bool rising = entry.key > last;  // then pages are filled completely
    status = ::mdb_put(transaction, table_, &key, &value, rising ? MDB_APPEND : MDB_NOOVERWRITE);
    if (status == MDB_KEYEXIST) {
      ::mdb_txn_abort(transaction);
      fail_on_lmdb(ExitCode::kData, path_, "the key '" + entry.key + "' occurs twice");
    }
    if (rising) last = entry.key;
  }
  if (status != 0) {
    ::mdb_txn_abort(transaction);
    return status;
  }
  status = ::mdb_txn_commit(transaction);
  if (status == 0) last_key_ = last;
  return status;
}

void LmdbWriter::flush() {
  int status = write_pending();
  while (status == MDB_MAP_FULL) {
    map_size_ *= 2;
    status = ::mdb_env_set_mapsize(env_, map_size_);
    if (status == 0) status = write_pending();
  }
  if (status != 0) fail_to_write(path_, status);
  pending_.clear();
  pending_bytes_ = 0;
}

void LmdbWriter::commit() {
  flush();
  int status;
  do status = ::mdb_env_sync(env_, 1);
  while (status == EINTR);
  if (status != 0) fail_to_write(path_, status);
  ::mdb_env_close(std::exchange(env_, nullptr));
  write_page_checksums(temporary_);
  write_names(temporary_, names_);
  check_target(path_, replace_);  // repeated, because a lot of time may have passed
  check_names_beside(path_, names_, replace_);
  if (file_exists(path_) || !(names_ == DatasetNames{})) remove_names_beside(path_);
  put_folder_in_place(temporary_, path_, remove_lmdb);
  temporary_.clear();
  link_names_beside(path_);
}

}  // namespace cortado::data

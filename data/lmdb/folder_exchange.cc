#include "data/lmdb/folder_exchange.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"

namespace cortado::data {

namespace {

/// Returns false if the file system does not support it.
bool exchange(const std::string& a, const std::string& b) {
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

bool rename(const std::string& from, const std::string& to) { return ::rename(from.c_str(), to.c_str()) == 0; }

[[noreturn]] void fail_to_exchange(const std::string& path, int error) {
  throw file_error(ExitCode::kIo, path, std::string("cannot rename the dataset: ") + std::strerror(error));
}

/// Returns the path of the replaced folder; "" if there was none.
std::string swap_in(const std::string& made, const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, ignored))) {
    if (rename(made, path)) return {};
    fail_to_exchange(path, errno);
  }
  if (exchange(made, path)) return made;
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) fail_to_exchange(path, errno);
  const std::string old = replaced_folder(path);
  if (!rename(path, old)) fail_to_exchange(path, errno);
  if (rename(made, path)) return old;
  const int error = errno;
  rename(old, path);
  fail_to_exchange(path, error);
}

void swap_out(const std::string& made, const std::string& path, const std::string& old) {
  if (old == made) {
    exchange(made, path);
    return;
  }
  rename(path, made);
  if (!old.empty()) rename(old, path);
}

}  // namespace

std::string replaced_folder(const std::string& path) { return path + ".tmp.old"; }

void put_folder_in_place(const std::string& made, const std::string& path, const FolderRemover& remove) {
  sync_folder(made);
  const std::string old = swap_in(made, path);
  try {
    sync_folder(folder_of(path));
  } catch (const Error&) {
    swap_out(made, path, old);
    throw;
  }
  if (!old.empty()) remove(old);
}

void recover_folder(const std::string& path, const FolderRemover& remove) {
  const std::string old = replaced_folder(path);
  if (!file_exists(old)) return;
  if (file_exists(path)) return remove(old);
  rename(old, path);
  sync_folder(folder_of(path));
}

}  // namespace cortado::data

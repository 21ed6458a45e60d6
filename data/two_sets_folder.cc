#include "data/two_sets_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/file.h"
#include "core/file_error.h"
#include "data/convert.h"

namespace cortado::data {

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what, const std::string& hint = {}) {
  throw file_error(ExitCode::kIo, path, what, hint);
}

bool holds_only(const std::filesystem::path& folder, const std::vector<std::string>& names) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (std::find(names.begin(), names.end(), entry.path().filename()) == names.end()) return false;
  return !error;
}

/// Only what is surely two sets (or nothing) is ever replaced.
void check_target(const std::string& path, bool replace) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) return;
  if (!replace) fail(path, "exists already", "choose another name, or say --force to replace it");
  bool ours = holds_only(path, {kTrainPart, kTestPart, kLabelsPart});
  for (const char* part : {kTrainPart, kTestPart}) {
    const std::string set = join_path(path, part);
    if (file_exists(set)) ours = ours && holds_only(set, {"data.mdb", "lock.mdb"});
  }
  if (!ours)
    fail(path, std::string("holds other files than ") + kTrainPart + ", " + kTestPart + " and " + kLabelsPart +
                   ", so it is not replaced");
}

void sync_folder(const std::string& path) {
  const int fd = ::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!synced) fail(path, std::string("cannot sync the folder: ") + std::strerror(error));
}

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

TwoSetsFolder::TwoSetsFolder(const std::string& path, bool replace)
    : path_(without_trailing_slashes(path)),
      temporary_(path_ + ".tmp." + std::to_string(::getpid())),
      replace_(replace) {
  if (path_.empty()) fail(path_, "a dataset needs a name");
  check_target(path_, replace_);
  std::error_code ignored;
  std::filesystem::remove_all(temporary_, ignored);
  if (::mkdir(temporary_.c_str(), 0777) == 0) return;
  fail(path_, "cannot make the folder: " +
                  (errno == ENOENT ? "there is no folder " + folder_of(path_) : std::strerror(errno)));
}

TwoSetsFolder::~TwoSetsFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove_all(temporary_, ignored);
}

std::string TwoSetsFolder::part(const std::string& name) const { return join_path(temporary_, name); }

void TwoSetsFolder::commit(const std::string& labels) {
  if (!labels.empty()) write_file_atomically(part(kLabelsPart), labels);
  sync_folder(temporary_);
  check_target(path_, replace_);  // again: much time may have passed
  // What was there changes places with the new one in one call, and is removed by the destructor.
  const bool exchanged =
      replace_ && ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) == 0;
  if (!exchanged && ::rename(temporary_.c_str(), path_.c_str()) != 0)
    fail(path_, std::string("cannot put the sets in place: ") + std::strerror(errno));
  if (!exchanged) temporary_.clear();
  sync_folder(folder_of(path_));
}

}  // namespace cortado::data

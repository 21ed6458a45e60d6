#include "data/convert/two_sets_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/error.h"
#include "core/files/file.h"
#include "core/files/made_folders.h"
#include "data/convert/convert.h"
#include "data/lmdb/folder_exchange.h"
#include "data/lmdb/page_checksums.h"

namespace cortado::data {

namespace {

[[noreturn]] void fail_on_sets(const std::string& path, const std::string& what, const std::string& hint = {}) {
  throw file_error(ExitCode::kIo, path, what, hint);
}

bool is_lmdb(const std::filesystem::path& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (!is_lmdb_file(entry.path().filename())) return false;
  return !error;
}

bool holds_only(const std::filesystem::path& folder, const std::vector<std::string>& names) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (std::find(names.begin(), names.end(), entry.path().filename()) == names.end()) return false;
  return !error;
}

/// Whether the folder has only the two sets, or nothing; other folders are never removed.
bool is_two_sets(const std::string& path) {
  bool ours = holds_only(path, {kTrainPart, kTestPart, kLabelsPart, kLabelMapPart});
  for (const char* part : {kTrainPart, kTestPart}) {
    const std::string set = join_path(path, part);
    if (file_exists(set)) ours = ours && is_lmdb(set);
  }
  return ours;
}

void check_sets_target(const std::string& path, bool replace) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) return;
  if (!replace) fail_on_sets(path, "exists already", "choose another name, or use --force to replace it");
  if (!is_two_sets(path))
    fail_on_sets(path, std::string("contains other files than ") + kTrainPart + ", " + kTestPart + " and " +
                           kLabelsPart + ", so it is not replaced");
}

void remove_sets(const std::string& path) {
  std::error_code ignored;
  if (is_two_sets(path)) std::filesystem::remove_all(path, ignored);
}

}  // namespace

TwoSetsFolder::TwoSetsFolder(const std::string& path, bool replace)
    : path_(without_trailing_slashes(path)), temporary_(temporary_beside(path_)), replace_(replace) {
  if (path_.empty()) fail_on_sets(path_, "a dataset needs a name");
  recover_folder(path_, remove_sets);
  check_sets_target(path_, replace_);
  remove_leftovers(path_);
  std::error_code ignored;
  std::filesystem::remove_all(temporary_, ignored);
  if (::mkdir(temporary_.c_str(), 0777) == 0) return;
  fail_on_sets(path_, "cannot create the folder: " +
                          (errno == ENOENT ? "cannot find the folder " + folder_of(path_) : std::strerror(errno)));
}

TwoSetsFolder::~TwoSetsFolder() {
  std::error_code ignored;
  if (!temporary_.empty() && made_here_) std::filesystem::remove_all(temporary_, ignored);
}

std::string TwoSetsFolder::part(const std::string& name) const { return join_path(temporary_, name); }

void TwoSetsFolder::commit(const DatasetNames& names) {
  write_names(temporary_, names);
  check_sets_target(path_, replace_);  // repeated, because a lot of time may have passed
  put_folder_in_place(temporary_, path_, remove_sets);
  temporary_.clear();
}

}  // namespace cortado::data

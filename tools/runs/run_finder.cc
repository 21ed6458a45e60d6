#include "tools/runs/run_finder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>

#include "core/files/descriptor.h"
#include "core/files/file.h"
#include "tools/runs/run_folder.h"

namespace cortado::runs {

namespace {

constexpr int kMaxLevels = 100;
constexpr time_t kSettles = 2;  // seconds; file systems store times to at least this

bool same(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

bool is_folder(const dirent& entry, int above) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat info;
  return ::fstatat(above, entry.d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

const RunFinder::Content& RunFinder::content_of(const std::string& folder) {
  struct stat info;
  Content& content = seen_[folder];
  if (::stat(folder.c_str(), &info) != 0) return content;
  if (const auto known = known_.find(folder);
      known != known_.end() && known->second.is_settled && same(known->second.changed, info.st_mtim))
    return content = std::move(known->second);
  content.changed = info.st_mtim;
  content.is_run = is_run(folder);
  content.is_settled = ::time(nullptr) > info.st_mtim.tv_sec + kSettles;
  if (content.is_run) return content;
  Descriptor opened(folder, O_RDONLY | O_DIRECTORY);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opened.ok() ? ::fdopendir(opened.fd()) : nullptr, ::closedir);
  if (!entries) {
    content.is_settled = false;  // permissions may change
    if (errno != ENOENT && errno != ENOTDIR) unreadable_.push_back(folder);
    return content;
  }
  opened.release();
  while (const dirent* entry = ::readdir(entries.get()))
    if (entry->d_name[0] != '.' && is_folder(*entry, ::dirfd(entries.get()))) content.folders.push_back(entry->d_name);
  std::ranges::sort(content.folders);
  return content;
}

void RunFinder::find(const std::string& folder, int levels, std::vector<std::string>& found) {
  const Content& content = content_of(folder);
  if (content.is_run) return found.push_back(folder);
  if (levels == 0) return;
  for (const std::string& name : content.folders)
    find((folder.ends_with('/') ? folder : folder + "/") + name, levels - 1, found);
}

std::vector<std::string> RunFinder::find(const std::string& folder) {
  unreadable_.clear();
  seen_.clear();
  std::vector<std::string> found;
  find(folder, kMaxLevels, found);
  known_.swap(seen_);
  return found;
}

}  // namespace cortado::runs

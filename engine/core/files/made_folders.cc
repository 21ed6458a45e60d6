#include "core/files/made_folders.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include "core/files/descriptor.h"
#include "core/files/file.h"

namespace cortado {

namespace {

/// `folder` and its missing ancestors, outermost first.
std::vector<std::string> missing_folders(const std::string& folder) {
  std::vector<std::string> missing;
  std::string path = without_trailing_slashes(std::filesystem::absolute(folder).string());
  for (; path != "/" && !file_exists(path); path = without_trailing_slashes(folder_of(path))) missing.push_back(path);
  std::ranges::reverse(missing);
  return missing;
}

}  // namespace

MadeFolders::MadeFolders(const std::string& folder, std::error_code& failure) {
  const std::vector<std::string> missing = missing_folders(folder);
  make_folders(folder, failure);
  std::ranges::copy_if(missing, std::back_inserter(made_), file_exists);
}

MadeFolders::~MadeFolders() {
  if (!made_here_) return;
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder)
    if (::rmdir(folder->c_str()) != 0) return;  // not empty
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = ".tmp.";

/// Whether it has ended, and only its parent has not asked for that yet, which in a container may be never.
bool is_zombie(int process) {
  const Descriptor file("/proc/" + std::to_string(process) + "/stat", O_RDONLY);
  char text[512];
  const int64_t size = file.ok() ? ::read(file.fd(), text, sizeof text) : 0;
  const std::string_view stat(text, size_t(std::max<int64_t>(size, 0)));
  return stat.substr(std::min(stat.rfind(')'), stat.size())).starts_with(") Z");
}

bool is_gone(int process) { return (::kill(process, 0) != 0 && errno == ESRCH) || is_zombie(process); }

bool take_number(std::string_view& text, int& number) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(size_t(end - text.data()));
  return failure == std::errc() && number >= 0;
}

/// The PID of "NAME.tmp.PID" or "NAME.tmp.PID.NUMBER"; 0 for other names.
int process_in(std::string_view name) {
  int process = 0, number = 0;
  name.remove_prefix(name.rfind(kMark) + kMark.size());
  if (!take_number(name, process)) return 0;
  if (name.starts_with('.') && (name.remove_prefix(1), !take_number(name, number))) return 0;
  return name.empty() ? process : 0;
}

/// Calls body(NAME, name) for every "NAME.tmp..." in a folder.
template <typename Body>
void each_temporary(const std::string& folder, const Body& body) {
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    const size_t mark = name.rfind(kMark);
    if (mark != name.npos && mark > 0) body(name.substr(0, mark), name);
  }
}

/// Leftovers of ended processes in a folder, by the name of their target.
using Leftovers = std::multimap<std::string, std::string>;

Leftovers leftovers_in(const std::string& folder) {
  Leftovers found;
  each_temporary(folder, [&](const std::string& whole, const std::string& name) {
    if (const int process = process_in(name); process > 0 && is_gone(process)) found.emplace(whole, name);
  });
  return found;
}

}  // namespace

Descriptor lock_if_free(const std::string& path) {
  Descriptor file(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  if (file.ok() && ::flock(file.fd(), LOCK_EX | LOCK_NB) != 0) return {};
  return file;
}

void remove_unless_locked(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::symlink_status(path, ignored);
  if (!fs::is_directory(status) && !fs::is_regular_file(status)) return;
  if (const Descriptor lock = lock_if_free(path); lock.ok()) fs::remove_all(path, ignored);
}

void remove_leftovers(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, Leftovers> folders;
  std::error_code failure;
  const fs::path whole = fs::absolute(path, failure);
  if (failure) return;
  const std::string folder = whole.parent_path().string();
  const std::lock_guard lock(mutex);
  const auto [known, is_new] = folders.try_emplace(folder);
  if (is_new) known->second = leftovers_in(folder);
  const auto [begin, end] = known->second.equal_range(whole.filename().string());
  for (auto left = begin; left != end; ++left) remove_unless_locked(join_path(folder, left->second));
  known->second.erase(begin, end);
}

void remove_leftovers(const std::string& folder, FunctionRef<bool(std::string_view)> are_ours) {
  each_temporary(folder, [&](const std::string& whole, const std::string& name) {
    std::error_code ignored;
    if (are_ours(whole)) fs::remove(join_path(folder, name), ignored);
  });
}

void remove_left_in(const std::string& folder, const std::string& begin, bool is_start) {
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(begin)) continue;
    std::string_view rest(std::string_view(name).substr(begin.size()));
    int process = 0;
    struct stat info {};
    const bool is_ours = ::lstat(entry->path().c_str(), &info) == 0 && info.st_uid == ::geteuid();
    if (!is_ours || !take_number(rest, process) || process == 0 || !(rest.starts_with('.') || rest.starts_with('-')))
      continue;
    if (is_gone(process) || (is_start && process == ::getpid())) remove_unless_locked(entry->path().string());
  }
}

}  // namespace cortado

#include "studio/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "core/error.h"
#include "core/files/file.h"
#include "http/request_error.h"
#include "studio/folder_paths.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

Descriptor open_regular(int root, const std::string& path, int64_t& bytes) {
  Descriptor file = open_below(root, path, O_RDONLY);
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0 || !S_ISREG(info.st_mode))
    throw RequestError(Refusal::kInvalid, path + ": not a regular file");
  bytes = info.st_size;
  return file;
}

std::string read_from(const Descriptor& file, int64_t offset, int64_t most) {
  std::string content(size_t(most), '\0');
  size_t got = 0;
  while (got < content.size()) {
    const ssize_t n = ::pread(file.fd(), content.data() + got, content.size() - got, offset + int64_t(got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += size_t(n);
  }
  content.resize(got);
  return content;
}

/// Calls body(name, status) for each entry that is not hidden.
template <typename Body>
void each_visible(Descriptor folder, const std::string& path, const Body& body) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(folder.fd()), ::closedir);
  if (!stream) refuse_path(path, errno);
  folder.release();
  while (const dirent* one = ::readdir(stream.get())) {
    struct stat info {};
    if (one->d_name[0] == '.' || ::fstatat(::dirfd(stream.get()), one->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    body(one->d_name, info);
  }
}

}  // namespace

Folder::Folder(const std::string& path) {
  char* const real = ::realpath(path.c_str(), nullptr);
  if (real) root_ = real;
  std::free(real);
  if (!root_.empty()) folder_ = Descriptor(root_, O_PATH | O_DIRECTORY);
  if (!folder_.ok()) throw Error(ExitCode::kIo, path + ": " + std::strerror(errno), "use an existing folder");
}

std::string Folder::at(const std::string& path) const {
  const std::vector<std::string> parts = parts_of(path);
  Descriptor folder = open_folder_in(folder_.fd(), ".");
  std::string whole = root_;
  for (size_t i = 0; i < parts.size(); ++i) {
    whole += (whole.ends_with('/') ? "" : "/") + parts[i];
    if (!folder.ok()) continue;
    struct stat info {};
    if (::fstatat(folder.fd(), parts[i].c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) refuse_path(path, errno);
      folder = Descriptor();  // the rest does not exist yet
      continue;
    }
    if (S_ISLNK(info.st_mode)) refuse_path(path, ELOOP);
    if (i + 1 == parts.size()) break;
    folder = open_folder_in(folder.fd(), parts[i]);
    if (!folder.ok()) refuse_path(path, errno);
  }
  return whole;
}

std::string Folder::file_at(const std::string& path) const {
  size(path);
  std::string whole = at(path);
  if (whole.find(',') != std::string::npos)
    throw RequestError(Refusal::kInvalid, path + ": a path in a list must not contain a comma");
  return whole;
}

bool Folder::has(const std::string& path) const {
  parts_of(path);  // refuses paths that lead out
  try {
    open_below(folder_.fd(), path, O_PATH);
    struct stat info {};
    return ::lstat(at(path).c_str(), &info) == 0 && !S_ISLNK(info.st_mode);
  } catch (const RequestError&) {
    return false;
  }
}

bool Folder::has_file(const std::string& path) const {
  struct stat info {};
  return has(path) && ::lstat(at(path).c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

std::string Folder::name_of(const std::string& whole) const {
  if (whole == root_) return "";
  const std::string above = root_.ends_with('/') ? root_ : root_ + "/";
  return whole.starts_with(above) ? whole.substr(above.size()) : whole;
}

std::string Folder::read(const std::string& path, int64_t most) const {
  int64_t bytes = 0;
  const Descriptor file = open_regular(folder_.fd(), path, bytes);
  if (bytes > most)
    throw RequestError(Refusal::kTooLarge,
                       path + " has " + std::to_string(bytes) + " bytes, above the limit of " + std::to_string(most));
  return read_from(file, 0, bytes);
}

std::string Folder::read_part(const std::string& path, int64_t offset, int64_t most) const {
  int64_t bytes = 0;
  const Descriptor file = open_regular(folder_.fd(), path, bytes);
  return read_from(file, offset, std::clamp<int64_t>(bytes - offset, 0, most));
}

int64_t Folder::size(const std::string& path) const {
  int64_t bytes = 0;
  open_regular(folder_.fd(), path, bytes);
  return bytes;
}

std::vector<Entry> Folder::list(const std::string& path) const {
  std::vector<Entry> entries;
  each_visible(open_below(folder_.fd(), path, O_RDONLY | O_DIRECTORY), path, [&](const char* name, const auto& info) {
    if (S_ISDIR(info.st_mode) || S_ISREG(info.st_mode))
      entries.push_back({name, S_ISDIR(info.st_mode), info.st_size, double(info.st_mtime)});
  });
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return std::pair(!a.is_folder, a.name) < std::pair(!b.is_folder, b.name);
  });
  return entries;
}

std::vector<Entry> Folder::list_if_readable(const std::string& path) const {
  try {
    return list(path);
  } catch (const RequestError&) {
    return {};
  }
}

std::vector<std::pair<std::string, std::string>> Folder::odd_entries(const std::string& path) const {
  std::vector<std::pair<std::string, std::string>> odd;
  each_visible(open_below(folder_.fd(), path, O_RDONLY | O_DIRECTORY), path, [&](const char* name, const auto& info) {
    if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) odd.emplace_back(name, kind_of_file(info.st_mode));
  });
  std::ranges::sort(odd);
  return odd;
}

int64_t Folder::count(const std::string& path, int64_t most) const {
  Descriptor folder = open_below(folder_.fd(), path, O_RDONLY | O_DIRECTORY);
  DIR* const stream = ::fdopendir(folder.fd());
  if (!stream) refuse_path(path, errno);
  folder.release();
  int64_t count = 0;
  for (const dirent* one = ::readdir(stream); one && count < most; one = ::readdir(stream))
    count += one->d_name[0] != '.' && one->d_type != DT_LNK;
  ::closedir(stream);
  return count;
}

}  // namespace cortado::studio

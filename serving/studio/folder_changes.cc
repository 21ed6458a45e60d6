// Changes of the folder's content. Every step is relative to an opened folder, so that a link that appears meanwhile is
// not followed.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "core/files/file.h"
#include "core/files/made_folders.h"
#include "http/request_error.h"
#include "studio/folder.h"
#include "studio/folder_paths.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

constexpr int kMaxLevels = 100;
constexpr int64_t kMaxReplaced = 64 << 20;
constexpr const char* kNewFiles = ".studio/new";
constexpr const char* kNewFile = ".studio.";  // and PID, and a number

/// Writes the folder's entries to the disk.
void sync_entries(const Descriptor& folder) {
  const Descriptor readable(::openat(folder.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (readable.ok()) ::fsync(readable.fd());
}

/// The folder that contains what `path` names, and the name in it.
struct Place {
  Place(int root, const std::string& path) : path(path) {
    const std::vector<std::string> parts = parts_of(path);
    if (parts.empty()) throw RequestError(Refusal::kInvalid, "the studio's folder itself cannot be changed");
    folder = open_above(root, path, parts);
    name = parts.back();
  }

  void check_not_link() const {
    struct stat info {};
    if (::fstatat(folder.fd(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode))
      refuse_path(path, ELOOP);
  }

  void sync() const { sync_entries(folder); }

  const std::string& path;
  Descriptor folder;
  std::string name;
};

/// A hidden, locked file in another folder, which is deleted unless it is renamed to its place.
class NewFile {
 public:
  /// `from`: the path of the folder.
  NewFile(const Place& place, std::string from, const Descriptor& folder)
      : place_(place), from_(std::move(from)), folder_(folder) {
    static std::atomic<int64_t> last = 0;
    name_ = kNewFile + std::to_string(::getpid()) + "." + std::to_string(++last);
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    file_ = Descriptor(::openat(folder_.fd(), name_.c_str(), kFlags, 0666));
    if (!file_.ok()) refuse_path(place.path, errno);
    ::flock(file_.fd(), LOCK_EX | LOCK_NB);
  }
  ~NewFile() {
    if (!name_.empty()) ::unlinkat(folder_.fd(), name_.c_str(), 0);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view content) {
    while (!content.empty()) {
      const ssize_t written = ::write(file_.fd(), content.data(), content.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) refuse_path(place_.path, errno);
      content.remove_prefix(size_t(written));
    }
    if (::fsync(file_.fd()) != 0) refuse_path(place_.path, errno);
  }

  /// With RENAME_NOREPLACE, refuses an existing name; with RENAME_EXCHANGE this file gets the content of the place.
  /// Returns 0, or the errno with which another way may succeed.
  int rename(unsigned flags) {
    if (::renameat2(folder_.fd(), name_.c_str(), place_.folder.fd(), place_.name.c_str(), flags) != 0) {
      if (errno == EXDEV || errno == EINVAL || errno == ENOSYS) return errno;
      refuse_path(place_.path, errno);
    }
    if (flags != RENAME_EXCHANGE) name_.clear();
    place_.sync();
    return 0;
  }

  std::string path() const { return (from_.empty() ? "" : from_ + "/") + name_; }
  Descriptor release() { return std::move(file_); }

 private:
  const Place& place_;
  std::string from_;
  const Descriptor& folder_;
  std::string name_;
  Descriptor file_;
};

Descriptor open_made_folder(const Folder& all, int root, const std::string& path) {
  try {
    all.make(path);
    return open_below(root, path, O_PATH | O_DIRECTORY);
  } catch (const RequestError&) {
    return {};
  }
}

void remove_in(int folder, const std::string& name, const std::string& path, int levels);

/// Deletes the content of a folder.
void remove_content(Descriptor folder, const std::string& path, int levels) {
  DIR* const stream = ::fdopendir(folder.fd());
  if (!stream) refuse_path(path, errno);
  folder.release();
  const std::shared_ptr<DIR> closed(stream, ::closedir);
  while (const dirent* one = ::readdir(stream)) {
    const std::string name = one->d_name;
    if (name != "." && name != "..") remove_in(::dirfd(stream), name, path, levels);
  }
}

void remove_in(int folder, const std::string& name, const std::string& path, int levels) {
  if (::unlinkat(folder, name.c_str(), 0) == 0) return;  // a file, or a link but not its target
  if (errno != EISDIR && errno != EPERM) refuse_path(path, errno);
  if (levels == 0) throw RequestError(Refusal::kInvalid, path + " has too many levels of folders");
  Descriptor inner(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!inner.ok()) refuse_path(path, errno);
  remove_content(std::move(inner), path, levels - 1);
  if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) != 0) refuse_path(path, errno);
}

}  // namespace

void Folder::make(const std::string& path) const {
  Descriptor folder = open_folder_in(folder_.fd(), ".");
  for (const std::string& part : parts_of(path)) {
    const bool made = ::mkdirat(folder.fd(), part.c_str(), 0777) == 0;
    if (!made && errno != EEXIST) refuse_path(path, errno);
    if (made) sync_entries(folder);
    folder = open_folder_in(folder.fd(), part);
    if (!folder.ok()) refuse_path(path, errno);
  }
}

void Folder::make_new(const std::string& path) const {
  if (const std::string above = folder_of(path); !above.empty()) make(above);
  const Place place(folder_.fd(), path);
  if (::mkdirat(place.folder.fd(), place.name.c_str(), 0777) != 0) refuse_path(path, errno);
  place.sync();
}

/// Calls put(file), which returns what file.rename() does, with the content in a hidden file. The file is in one folder
/// for all, where the next start finds it if this process is killed; and next to its place if that is on another file
/// system, or if the folder cannot be made.
template <typename Put>
Descriptor Folder::put_file(const std::string& path, std::string_view content, const Put& put) const {
  const Place place(folder_.fd(), path);
  place.check_not_link();
  if (const Descriptor folder = open_made_folder(*this, folder_.fd(), kNewFiles); folder.ok()) {
    NewFile file(place, kNewFiles, folder);
    file.write(content);
    if (put(file) == 0) return file.release();
  }
  const std::string parent = folder_of(path);
  remove_left_in(at(parent), kNewFile, false);
  NewFile file(place, parent, place.folder);
  file.write(content);
  if (const int failure = put(file); failure != 0) refuse_path(path, failure);
  return file.release();
}

Descriptor Folder::write_new(const std::string& path, std::string_view content) const {
  return put_file(path, content, [](NewFile& file) { return file.rename(RENAME_NOREPLACE); });
}

void Folder::replace(const std::string& path, std::string_view content, const std::string& digest) const {
  const std::lock_guard lock(replacing_);
  const auto check = [&](const std::string& file) {
    if (digest_of(read(file, kMaxReplaced)) != digest)
      throw RequestError(Refusal::kConflict, path + " was changed since it was opened");
  };
  put_file(path, content, [&](NewFile& file) {
    check(path);
    const int failure = file.rename(RENAME_EXCHANGE);
    if (failure != 0) return failure == EXDEV ? failure : file.rename(0);
    try {
      check(file.path());  // another program may have changed it just now
    } catch (const RequestError&) {
      file.rename(RENAME_EXCHANGE);
      throw;
    }
    return 0;
  });
}

void Folder::remove_left() const {
  if (has(kNewFiles)) remove_left_in(at(kNewFiles), kNewFile, true);
}

void Folder::move(const std::string& from, const std::string& to) const {
  const Place old(folder_.fd(), from), changed(folder_.fd(), to);
  old.check_not_link();
  if (::renameat2(old.folder.fd(), old.name.c_str(), changed.folder.fd(), changed.name.c_str(), RENAME_NOREPLACE) != 0)
    refuse_path(errno == EEXIST ? to : from, errno);
  changed.sync();
  old.sync();
}

void Folder::remove(const std::string& path) const {
  const Place place(folder_.fd(), path);
  remove_in(place.folder.fd(), place.name, path, kMaxLevels);
  place.sync();
}

}  // namespace cortado::studio

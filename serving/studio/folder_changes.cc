// Changes of the folder's content. Every step is relative to an opened folder, so that a link that appears meanwhile is
// not followed.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "core/files/file.h"
#include "http/request_error.h"
#include "studio/folder.h"
#include "studio/folder_paths.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

constexpr int kMaxLevels = 100;
constexpr int64_t kMaxReplaced = 64 << 20;

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

  /// Writes the folder's entries to the disk.
  void sync() const {
    const Descriptor readable(::openat(folder.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (readable.ok()) ::fsync(readable.fd());
  }

  const std::string& path;
  Descriptor folder;
  std::string name;
};

/// A file next to its place, which is deleted unless it is renamed.
class NewFile {
 public:
  explicit NewFile(const Place& place) : place_(place) {
    static std::atomic<int64_t> last = 0;
    name_ = ".studio." + std::to_string(::getpid()) + "." + std::to_string(++last);
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    file_ = Descriptor(::openat(place.folder.fd(), name_.c_str(), kFlags, 0666));
    if (!file_.ok()) refuse_path(place.path, errno);
  }
  ~NewFile() {
    if (!name_.empty()) ::unlinkat(place_.folder.fd(), name_.c_str(), 0);
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

  /// With RENAME_NOREPLACE, refuses an existing name.
  void rename(unsigned flags) {
    const int folder = place_.folder.fd();
    if (::renameat2(folder, name_.c_str(), folder, place_.name.c_str(), flags) != 0) refuse_path(place_.path, errno);
    name_.clear();
    place_.sync();
  }

 private:
  const Place& place_;
  std::string name_;
  Descriptor file_;
};

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
    if (::mkdirat(folder.fd(), part.c_str(), 0777) != 0 && errno != EEXIST) refuse_path(path, errno);
    folder = open_folder_in(folder.fd(), part);
    if (!folder.ok()) refuse_path(path, errno);
  }
}

void Folder::write_new(const std::string& path, std::string_view content) const {
  const Place place(folder_.fd(), path);
  place.check_not_link();
  NewFile file(place);
  file.write(content);
  file.rename(RENAME_NOREPLACE);
}

void Folder::replace(const std::string& path, std::string_view content, const std::string& digest) const {
  const Place place(folder_.fd(), path);
  place.check_not_link();
  NewFile file(place);
  file.write(content);
  if (digest_of(read(path, kMaxReplaced)) != digest)
    throw RequestError(Refusal::kConflict, path + " was changed since it was opened");
  file.rename(0);
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

#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>

#include "core/error.h"
#include "core/files/descriptor.h"
#include "core/files/file.h"
#include "core/files/made_folders.h"
#include "core/forks.h"
#include "core/log.h"
#include "core/process/try_for.h"
#include "solvers/snapshot.h"

namespace cortado {

namespace {

constexpr std::array kSnapshotEndings = {".caffemodel", ".solverstate", ".caffemodel.h5", ".solverstate.h5"};

std::string folder_or_here(const std::string& prefix) {
  const std::string folder = folder_of(prefix);
  return folder.empty() ? "." : folder;
}

std::unique_ptr<MadeFolders> made_folder(const std::string& folder) {
  std::error_code failure;
  auto made = std::make_unique<MadeFolders>(folder, failure);
  if (failure)
    throw Error(ExitCode::kIo, "cannot create the folder " + folder + " for snapshots: " + failure.message(),
                "set another snapshot_prefix");
  if (made->any()) log_info() << "Created the folder " << folder << " for snapshots";
  return made;
}

[[noreturn]] void throw_unwritable(const std::string& prefix, int reason) {
  throw Error(ExitCode::kIo, "snapshots of " + prefix + " cannot be written: " + std::strerror(reason),
              "set snapshot_prefix to a folder with write permission");
}

/// The lock's path is the same for all spellings of the prefix, and stays valid if the process changes its working
/// folder.
std::string lock_path(const std::string& prefix) {
  const std::string name = "." + file_name_of(prefix) + ".lock", folder = folder_or_here(prefix);
  std::error_code failure;
  const std::filesystem::path whole = std::filesystem::canonical(folder, failure);
  return join_path(failure ? folder : whole.string(), name);
}

/// Opens and locks `path`. Returns -1 if the previous holder removed the file between opening and locking.
int open_locked(const std::string& path, const std::string& prefix) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) throw_unwritable(prefix, errno);
  int reason = 0;
  const auto lock = [&] {
    reason = ::flock(file, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    return reason != EWOULDBLOCK;
  };
  if (!succeeds_within_a_second(lock) || reason != 0) {
    ::close(file);
    if (reason == EWOULDBLOCK)
      throw Error(ExitCode::kIo, "another training writes snapshots of " + prefix,
                  "wait for it, stop it, or choose another snapshot_prefix");
    throw Error(ExitCode::kIo, "cannot lock " + path + ": " + std::strerror(reason));
  }
  if (is_named(file, path)) return file;
  ::close(file);
  return -1;
}

/// Whether it is the name of weights or of a state of a training with this prefix.
bool is_snapshot_name(std::string_view name, const std::string& begin) {
  if (!name.starts_with(begin + "_iter_") && !name.starts_with(begin + "_best.")) return false;
  return std::ranges::any_of(kSnapshotEndings, [&](const char* ending) { return name.ends_with(ending); });
}

}  // namespace

/// A file that is locked during its lifetime.
class SnapshotLock::File {
 public:
  File(const std::string& path, const std::string& prefix, std::unique_ptr<MadeFolders> folders)
      : folders_(std::move(folders)), path_(path) {
    while (file_ < 0) file_ = open_locked(path_, prefix);
    remove_leftovers(folder_or_here(prefix),
                     [begin = file_name_of(prefix)](std::string_view name) { return is_snapshot_name(name, begin); });
  }
  ~File() {
    if (made_here_) ::unlink(path_.c_str());  // while the lock is held, so that a waiting process detects the removal
    ::close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

 private:
  std::unique_ptr<MadeFolders> folders_;
  std::string path_;
  int file_ = -1;
  MadeHere made_here_;
};

/// The lock of this process for `path`, shared by all its trainings.
std::shared_ptr<SnapshotLock::File> SnapshotLock::shared_file(const std::string& path, const std::string& prefix,
                                                              std::unique_ptr<MadeFolders> folders) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<File>> files;
  const std::lock_guard<std::mutex> alone(mutex);
  std::weak_ptr<File>& known = files[path];
  std::shared_ptr<File> file = known.lock();
  if (file)
    log_warning() << "another training in this process has written snapshots of " << prefix
                  << ": for each iteration the last writer's snapshot remains";
  else
    known = file = std::make_shared<File>(path, prefix, std::move(folders));
  return file;
}

SnapshotLock::SnapshotLock(const std::string& prefix, Holder holder) {
  std::unique_ptr<MadeFolders> folders = made_folder(folder_or_here(prefix));
  const std::string path = lock_path(prefix);
  file_ = holder == Holder::kProcess ? shared_file(path, prefix, std::move(folders))
                                     : std::make_shared<File>(path, prefix, std::move(folders));
}

void require_place_for_snapshots(const std::string& prefix) {
  const std::string folder = folder_or_here(prefix);
  const auto made = made_folder(folder);
  if (::access(folder.c_str(), W_OK) != 0) throw_unwritable(prefix, errno);
}

int64_t free_bytes(const std::string& prefix) {
  struct statvfs system;
  if (::statvfs(folder_or_here(prefix).c_str(), &system) != 0) return -1;
  return int64_t(system.f_bavail) * int64_t(system.f_frsize);
}

}  // namespace cortado

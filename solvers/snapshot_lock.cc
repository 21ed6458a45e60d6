#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/file.h"
#include "core/log.h"
#include "core/made_folders.h"
#include "core/try_for.h"
#include "solvers/snapshot.h"

namespace cortado {

namespace {

std::string folder_or_here(const std::string& prefix) {
  const std::string folder = folder_of(prefix);
  return folder.empty() ? "." : folder;
}

std::unique_ptr<MadeFolders> made_folder(const std::string& folder) {
  std::error_code failure;
  auto made = std::make_unique<MadeFolders>(folder, failure);
  if (failure)
    throw Error(ExitCode::kIo, "cannot make the folder " + folder + " for snapshots: " + failure.message(),
                "choose another snapshot_prefix");
  if (made->any()) log_info() << "Made the folder " << folder << " for snapshots";
  return made;
}

/// Opens and locks `path`. The file is removed when its holder ends; -1 when it was removed between opening and
/// locking.
int open_locked(const std::string& path, const std::string& prefix) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0)
    throw Error(ExitCode::kIo, "snapshots of " + prefix + " cannot be written: " + std::strerror(errno),
                "snapshot_prefix must lie in a folder that this user may write to");
  int reason = 0;
  const auto lock = [&] {
    reason = ::flock(file, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    return reason != EWOULDBLOCK;
  };
  if (!succeeds_within_a_second(lock) || reason != 0) {
    ::close(file);
    if (reason == EWOULDBLOCK)
      throw Error(ExitCode::kIo, "another process writes snapshots of " + prefix,
                  "wait for it, stop it, or choose another snapshot_prefix");
    throw Error(ExitCode::kIo, "cannot lock " + path + ": " + std::strerror(reason));
  }
  if (is_named(file, path)) return file;
  ::close(file);
  return -1;
}

/// Removes the files that a killed process was writing. No other process can be writing any: the lock is held.
void remove_leftovers(const std::string& prefix) {
  const std::string begin = file_name_of(prefix);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder_or_here(prefix), ignored)) {
    const std::string name = entry.path().filename().string();
    bool ours = false;
    for (const char* half : {".caffemodel.tmp.", ".solverstate.tmp.", ".caffemodel.h5.tmp.", ".solverstate.h5.tmp."})
      ours = ours || name.find(half) != std::string::npos;
    if (ours && (name.starts_with(begin + "_iter_") || name.starts_with(begin + "_best.")))
      std::filesystem::remove(entry.path(), ignored);
  }
}

}  // namespace

SnapshotLock::SnapshotLock(const std::string& prefix) : folders_(made_folder(folder_or_here(prefix))) {
  path_ = join_path(folder_of(prefix), "." + file_name_of(prefix) + ".lock");
  while (file_ < 0) file_ = open_locked(path_, prefix);
  remove_leftovers(prefix);
}

SnapshotLock::~SnapshotLock() {
  ::unlink(path_.c_str());  // while the lock is held: a waiting process finds that its file has no name
  ::close(file_);
}

int64_t free_bytes(const std::string& prefix) {
  struct statvfs system;
  if (::statvfs(folder_or_here(prefix).c_str(), &system) != 0) return -1;
  return int64_t(system.f_bavail) * int64_t(system.f_frsize);
}

}  // namespace cortado

#include "tools/runs/run_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "core/files/descriptor.h"
#include "core/files/file.h"
#include "core/log.h"
#include "core/process/try_for.h"
#include "tools/runs/run_file.h"

namespace cortado::runs {

namespace {

namespace fs = std::filesystem;

/// A lock of the whole file. Open file description locks belong to no process, so a child that ends does not release
/// them.
struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

RunPaths::RunPaths(const std::string& name)
    : folder(without_trailing_slashes(name)),
      record(join_path(folder, "run.json")),
      solver(join_path(folder, "solver.prototxt")),
      log(join_path(folder, "log.txt")),
      metrics(join_path(folder, "metrics.jsonl")),
      layers(join_path(folder, "layers.jsonl")),
      tensorboard(join_path(folder, "tb")),
      snapshots(join_path(folder, "snapshots")),
      lock(join_path(folder, "lock")),
      report(join_path(folder, "report.html")) {}

bool is_run(const std::string& folder) { return has_run_file(RunPaths(folder).record); }

void check_run_folder(const RunPaths& paths) {
  if (is_run(paths.folder))
    throw Error(ExitCode::kUsage, paths.folder + " already contains a run",
                "continue it with --resume=" + paths.folder + ", or choose another folder");
  std::error_code failure;
  if (fs::exists(paths.folder, failure) && !fs::is_empty(paths.folder, failure) && !file_exists(paths.lock))
    throw Error(ExitCode::kUsage, paths.folder + " exists, but is not a run", "choose a new or empty folder");
}

RunLock::RunLock(const RunPaths& paths) : file_(open_run_file(paths.lock, O_RDWR | O_CREAT)) {
  struct flock wanted = whole_file(F_WRLCK);
  int reason = 0;
  const auto lock = [&] {
    reason = ::fcntl(file_.fd(), F_OFD_SETLK, &wanted) == 0 ? 0 : errno;
    return reason != EAGAIN && reason != EACCES;
  };
  const bool locked = succeeds_within_a_second(lock) && reason == 0;
  if (!locked || !is_named(file_.fd(), paths.lock)) {
    if (locked || reason == EAGAIN || reason == EACCES)
      throw Error(ExitCode::kIo, "another process trains in " + paths.folder, "wait for it, or stop it");
    throw Error(ExitCode::kIo, "cannot lock " + paths.lock + ": " + std::strerror(reason));
  }
  const std::string process = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file_.fd(), 0) != 0 || ::write(file_.fd(), process.data(), process.size()) != ssize_t(process.size()))
    log_warning() << "cannot write to " << paths.lock;
}

int training_process(const RunPaths& paths) {
  if (!has_run_file(paths.lock)) return 0;
  const Descriptor file(paths.lock, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file.ok()) return 0;
  struct flock asked = whole_file(F_RDLCK);
  const bool held = ::fcntl(file.fd(), F_OFD_GETLK, &asked) == 0 && asked.l_type != F_UNLCK;
  char text[16] = {};
  const ssize_t size = held ? ::read(file.fd(), text, sizeof text - 1) : 0;
  if (!held) return 0;
  const int process = size > 0 ? std::atoi(text) : 0;
  return process > 0 ? process : -1;
}

RunLog::RunLog(const RunPaths& paths) : file_(open_run_file(paths.log, O_RDWR | O_CREAT | O_APPEND)) {
  copy_log_to(file_.fd());
}

RunLog::~RunLog() { copy_log_to(-1); }

}  // namespace cortado::runs

#include "ranks/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

#include "core/error.h"

namespace cortado::ranks {

namespace {

void redirect_to_null(int fd, int flags) {
  const int nowhere = ::open("/dev/null", flags);
  ::dup2(nowhere, fd);
  ::close(nowhere);
}

/// Runs in the child before the program: only async-signal-safe calls. The child gets its own process group, so that a
/// terminal's signals reach it only through the launcher. In that group it may write to the terminal, but reading from
/// it would stop it.
void prepare_child(int rank, pid_t launcher, int lines_fd, int kept_fd) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) ::_exit(128 + SIGKILL);  // the launcher ended before prctl()
  ::signal(SIGTTOU, SIG_IGN);
  if (rank != 0 || ::isatty(STDIN_FILENO)) redirect_to_null(STDIN_FILENO, O_RDONLY);
  if (rank != 0) {
    redirect_to_null(STDOUT_FILENO, O_WRONLY);
    ::dup2(lines_fd, STDERR_FILENO);
  }
  if (kept_fd >= 0) ::fcntl(kept_fd, F_SETFD, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void write_all(int fd, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno != EINTR) return;  // no reader
    if (n > 0) at += size_t(n);
  }
}

/// Runs this program in a fork of this process, with standard error redirected to `lines_fd`.
Process start_rank(const ChildProcess::Options& options, int lines_fd) {
  const std::vector<char*> arguments = pointers_to(options.command), environment = pointers_to(options.environment);
  const pid_t launcher = ::getpid();
  return Process::forked([&] {
    prepare_child(options.rank, launcher, lines_fd, options.kept_fd);
    ::execve("/proc/self/exe", arguments.data(), environment.data());
    ::_exit(127);
  });
}

}  // namespace

ChildProcess::ChildProcess(const Options& options) : rank_(options.rank) {
  try {
    Pipe lines;
    if (rank_ != 0) {
      lines = make_pipe();
      ::fcntl(lines.read.fd(), F_SETFL, O_NONBLOCK);
    }
    process_.emplace(start_rank(options, lines.write.fd()));
    lines_ = std::move(lines.read);
  } catch (const std::runtime_error& failure) {
    throw Error(ExitCode::kDevice, failure.what(), "raise the limit of processes (ulimit -u)");
  }
}

void ChildProcess::signal(int number) const {
  if (runs()) ::kill(process_->id(), number);
}

std::optional<int> ChildProcess::reap() {
  const std::optional<ProcessEnd> end = runs() ? process_->end_if_any() : std::nullopt;
  if (!end) return std::nullopt;
  was_killed_ = end->signal != 0;
  exit_code_ = end->shell_code();
  return exit_code_;
}

void ChildProcess::relay_lines() {
  char bytes[4096];
  ssize_t n = 0;
  while (lines_.ok() && (n = ::read(lines_.fd(), bytes, sizeof bytes)) > 0) part_.append(bytes, size_t(n));
  if (lines_.ok() && n == 0) {
    lines_ = Descriptor();
    if (!part_.empty() && part_.back() != '\n') part_ += '\n';
  }
  const std::string before = "rank " + std::to_string(rank_) + ": ";
  std::string shown;
  for (size_t end; (end = part_.find('\n')) != std::string::npos; part_.erase(0, end + 1))
    shown += before + part_.substr(0, end + 1);
  write_all(STDERR_FILENO, shown);
}

}  // namespace cortado::ranks

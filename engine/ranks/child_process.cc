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

void become_nothing(int fd, int flags) {
  const int nowhere = ::open("/dev/null", flags);
  ::dup2(nowhere, fd);
  ::close(nowhere);
}

/// What the child does before it runs the program: only what is allowed between fork and exec. It has a group of its
/// own, so that a terminal's signals reach it by way of the launcher alone; there it may write to the terminal, and
/// would be stopped if it read from it.
void prepare_child(int rank, pid_t launcher, int lines_fd, int kept_fd) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) ::_exit(128 + SIGKILL);  // it had ended before that
  ::signal(SIGTTOU, SIG_IGN);
  if (rank != 0 || ::isatty(STDIN_FILENO)) become_nothing(STDIN_FILENO, O_RDONLY);
  if (rank != 0) {
    become_nothing(STDOUT_FILENO, O_WRONLY);
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
    if (n < 0 && errno != EINTR) return;  // there is no reader; nothing to do about it
    if (n > 0) at += size_t(n);
  }
}

/// Runs this program in a fork of this process, its standard error going to `lines_fd`.
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
    throw Error(ExitCode::kDevice, failure.what(), "`ulimit -u` counts processes");
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

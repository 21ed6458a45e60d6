#include "ranks/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace cortado::ranks {

namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

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

}  // namespace

ChildProcess::ChildProcess(const Options& options) : rank_(options.rank) {
  const std::vector<char*> arguments = pointers_to(options.command), environment = pointers_to(options.environment);
  Descriptor writing;
  if (rank_ != 0) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw Error(ExitCode::kDevice, std::string("cannot make a pipe: ") + std::strerror(errno));
    lines_ = Descriptor(ends[0]);
    writing = Descriptor(ends[1]);
    ::fcntl(lines_.fd(), F_SETFL, O_NONBLOCK);
  }
  const pid_t launcher = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0)
    throw Error(ExitCode::kDevice, std::string("cannot start a process: ") + std::strerror(errno),
                "`ulimit -u` counts processes");
  if (pid_ > 0) return;
  prepare_child(rank_, launcher, writing.fd(), options.kept_fd);
  ::execve("/proc/self/exe", arguments.data(), environment.data());
  ::_exit(127);
}

void ChildProcess::signal(int number) const {
  if (runs()) ::kill(pid_, number);
}

std::optional<int> ChildProcess::reap() {
  int status = 0;
  if (exit_code_ || ::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  was_killed_ = WIFSIGNALED(status);
  exit_code_ = was_killed_ ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
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

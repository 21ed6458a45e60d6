#include "core/process/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

extern char** environ;

namespace cortado {

namespace {

using Bond = ProcessOptions::Bond;

ProcessEnd end_of(int status) {
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status)};
}

/// The file actions and attributes of posix_spawn().
class SpawnSteps {
 public:
  explicit SpawnSteps(const ProcessOptions& options) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    if (!options.folder.empty()) ::posix_spawn_file_actions_addchdir_np(&actions_, options.folder.c_str());
    put(options.in, STDIN_FILENO);
    put(options.out, STDOUT_FILENO);
    put(options.error, STDERR_FILENO);
    if (options.bond == Bond::kSession) ::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    if (options.bond != Bond::kPart)
      free_signals(options.bond == Bond::kGroup ? POSIX_SPAWN_SETPGROUP : POSIX_SPAWN_SETSID);
  }
  ~SpawnSteps() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnSteps(const SpawnSteps&) = delete;
  SpawnSteps& operator=(const SpawnSteps&) = delete;

  /// Starts the process. Returns an errno value, 0 on success.
  int run(const std::vector<std::string>& words, pid_t& process) const {
    return ::posix_spawn(&process, words[0].c_str(), &actions_, &attributes_, pointers_to(words).data(), environ);
  }

 private:
  void put(int fd, int as) {
    if (fd >= 0) ::posix_spawn_file_actions_adddup2(&actions_, fd, as);
  }

  void free_signals(short flags) {
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_, short(flags | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  }

  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

void put_stream(int fd, int as) {
  if (fd == as) ::fcntl(fd, F_SETFD, 0);
  if (fd >= 0 && fd != as) ::dup2(fd, as);
}

/// In the child of start_for_life(), between fork and exec: only async-signal-safe calls. Returns an errno value.
int exec_program(const ProcessOptions& options, char* const* words, pid_t parent) {
  ::setsid();
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  if (::getppid() != parent) return ESRCH;  // it ended before the signal was set
  if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) return errno;
  put_stream(options.in, STDIN_FILENO);
  put_stream(options.out, STDOUT_FILENO);
  put_stream(options.error, STDERR_FILENO);
  if (::close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC) != 0)
    for (int fd = STDERR_FILENO + 1, most = int(::sysconf(_SC_OPEN_MAX)); fd < most; ++fd)
      ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  // glibc 2.41 guards SIGABRT's action by a lock that another thread may have held at the fork. exec() resets handlers,
  // and abort() ends a program that ignores the signal, too.
  for (int number = 1; number < NSIG; ++number)
    if (number != SIGABRT) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execv(words[0], words);
  return errno;
}

/// posix_spawn() has no attribute for the signal at the parent's end. Returns an errno value, 0 on success.
int start_for_life(const ProcessOptions& options, pid_t& process) {
  Pipe told = make_pipe();  // closed by exec()
  const std::vector<char*> words = pointers_to(options.words);
  const pid_t parent = ::getpid();
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler of this program runs in the child
  process = ::_Fork();                            // not fork(), whose handlers may wait for other threads
  if (process == 0) {
    const int failure = exec_program(options, words.data(), parent);
    [[maybe_unused]] const ssize_t written = ::write(told.write.fd(), &failure, sizeof failure);
    ::_exit(127);
  }
  int failure = process < 0 ? errno : 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (process < 0) return failure;
  told.write = Descriptor();
  ssize_t got;
  do got = ::read(told.read.fd(), &failure, sizeof failure);
  while (got < 0 && errno == EINTR);
  if (got != ssize_t(sizeof failure)) return 0;
  ::waitpid(process, nullptr, 0);
  process = -1;
  return failure;
}

}  // namespace

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw std::runtime_error(std::string("cannot make a pipe: ") + std::strerror(errno));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::string ProcessEnd::crash() const { return ::strsignal(signal); }

std::optional<ProcessEnd> ended_process(pid_t process) {
  int status = 0;
  if (::waitpid(process, &status, WNOHANG) != process) return std::nullopt;
  return end_of(status);
}

Process::Process(const ProcessOptions& options) : leads_group_(options.bond != Bond::kPart) {
  const int failure =
      options.bond == Bond::kLife ? start_for_life(options, id_) : SpawnSteps(options).run(options.words, id_);
  if (failure != 0) throw std::runtime_error(options.words[0] + " cannot be started: " + std::strerror(failure));
}

Process::Process(Process&& other) noexcept : id_(other.release()), leads_group_(other.leads_group_) {}

Process::~Process() {
  if (id_ <= 0 || !made_here_) return;
  ::kill(leads_group_ ? -id_ : id_, SIGKILL);
  wait();
}

pid_t Process::fork_or_throw() {
  const pid_t id = ::fork();
  if (id < 0) throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(errno));
  return id;
}

std::optional<ProcessEnd> Process::wait() {
  int status = 0;
  const pid_t process = release();
  pid_t ended;
  do ended = ::waitpid(process, &status, 0);
  while (ended < 0 && errno == EINTR);
  if (ended < 0) return std::nullopt;
  return end_of(status);
}

std::optional<ProcessEnd> Process::end_if_any() {
  const std::optional<ProcessEnd> end = ended_process(id_);
  if (end) release();
  return end;
}

pid_t Process::release() { return std::exchange(id_, -1); }

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace cortado

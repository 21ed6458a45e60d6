#include "core/process/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
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
  if (const int failure = SpawnSteps(options).run(options.words, id_); failure != 0)
    throw std::runtime_error(options.words[0] + " cannot be started: " + std::strerror(failure));
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

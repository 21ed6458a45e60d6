#include "studio/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/program_path.h"
#include "http/request_error.h"

extern char** environ;

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

constexpr size_t kMostErr = 1 << 20;
constexpr std::chrono::milliseconds kChildLook(100);

/// How a child begins: in its folder, with no descriptor but three, and no signal blocked or ignored.
class Spawn {
 public:
  explicit Spawn(const std::string& folder) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  }
  ~Spawn() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  void put(int fd, int as) { posix_spawn_file_actions_adddup2(&actions_, fd, as); }

  pid_t run(const std::vector<std::string>& words) {
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    pid_t process = 0;
    if (const int error = posix_spawn(&process, argv[0], &actions_, &attributes_, argv.data(), environ); error != 0)
      throw RequestError(Refusal::kInternal, words[0] + " cannot be started: " + std::strerror(error));
    return process;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw RequestError(Refusal::kUnavailable, "no descriptors are left");
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
  }
  Descriptor read, write;
};

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

/// A child that is waited for; ended where that is given up.
class Running {
 public:
  explicit Running(pid_t process) : process_(process) {}
  ~Running() {
    if (process_ == 0) return;
    ::kill(-process_, SIGKILL);  // with what it started
    wait();
  }
  int wait() {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
    process_ = 0;
    return code_of(status);
  }

 private:
  pid_t process_;
};

/// Takes what is there; closes the pipe at its end.
std::string take(Descriptor& pipe) {
  std::array<char, 65536> piece;
  const ssize_t got = ::read(pipe.fd(), piece.data(), piece.size());
  if (got < 0 && errno == EINTR) return {};
  if (got <= 0) {
    pipe = Descriptor();
    return {};
  }
  return {piece.data(), size_t(got)};
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& words, const ChildOptions& options) {
  Pipe out, err;
  Spawn spawn(options.folder);
  spawn.put(out.write.fd(), STDOUT_FILENO);
  spawn.put(err.write.fd(), STDERR_FILENO);
  const pid_t process = spawn.run(words);
  Running child(process);
  if (options.on_start) options.on_start(process);
  out.write = Descriptor();
  err.write = Descriptor();
  ChildResult result;
  const auto end = std::chrono::steady_clock::now() + options.time;
  while (out.read.ok() || err.read.ok()) {
    std::array<pollfd, 2> wanted{{{out.read.fd(), POLLIN, 0}, {err.read.fd(), POLLIN, 0}}};
    ::poll(wanted.data(), wanted.size(), int(kChildLook.count()));
    if (options.cancelled && *options.cancelled) throw RequestError(Refusal::kCancelled, "it was stopped");
    if (std::chrono::steady_clock::now() > end)
      throw RequestError(Refusal::kLate, "it took longer than " + std::to_string(options.time.count()) + " seconds");
    if (wanted[0].revents) result.out += take(out.read);
    if (result.out.size() > options.most_out) throw RequestError(Refusal::kTooLarge, "its answer is too large");
    if (!wanted[1].revents) continue;
    const std::string told = take(err.read);
    if (options.on_err && !told.empty()) options.on_err(told);
    result.err += told;
    if (result.err.size() > kMostErr) result.err.erase(0, result.err.size() - kMostErr);
  }
  result.code = child.wait();
  return result;
}

pid_t start_child(const std::vector<std::string>& words, const std::string& folder, const std::string& log) {
  const Descriptor file(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0666);
  if (!file.ok()) throw RequestError(Refusal::kInternal, log + ": " + std::strerror(errno));
  Spawn spawn(folder);
  spawn.put(file.fd(), STDOUT_FILENO);
  spawn.put(file.fd(), STDERR_FILENO);
  return spawn.run(words);
}

int ended_child(pid_t process) {
  int status = 0;
  const pid_t found = ::waitpid(process, &status, WNOHANG);
  return found == process ? code_of(status) : -1;
}

std::string cortado_program() {
  const std::string path = companion_path("cortado");
  if (path.empty())
    throw Error(ExitCode::kIo, "there is no cortado beside this program", "install both from one build");
  return path;
}

}  // namespace cortado::studio

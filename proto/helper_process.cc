#include "proto/helper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "core/file.h"
#include "core/program_path.h"

extern char** environ;

namespace cortado {

namespace {

constexpr int kPatienceMilliseconds = 300'000;
constexpr size_t kLongestComplaint = 2000;

void close_one(int& fd) {
  if (fd >= 0) ::close(std::exchange(fd, -1));
}

/// Bytes of the UTF-8 character that `text` begins with; 0: it begins with none.
size_t character(std::string_view text) {
  const uint8_t first = uint8_t(text[0]);
  const size_t bytes = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (bytes > text.size()) return 0;
  for (size_t i = 1; i < bytes; ++i)
    if ((uint8_t(text[i]) & 0xC0) != 0x80) return 0;
  return bytes;
}

/// Three pairs of ends. Input is a socket, because a write to a pipe without a reader would end this process.
struct Ends {
  int in[2] = {-1, -1}, out[2] = {-1, -1}, complaint[2] = {-1, -1};

  Ends() {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) == 0 && ::pipe2(out, O_CLOEXEC) == 0 &&
        ::pipe2(complaint, O_CLOEXEC) == 0)
      return;
    const std::string reason = std::strerror(errno);
    close_all();
    throw std::runtime_error(reason);
  }
  ~Ends() { close_all(); }

 private:
  void close_all() {
    for (int* pair : {in, out, complaint})
      for (int i = 0; i < 2; ++i) close_one(pair[i]);
  }
};

/// A group of its own: Ctrl-C on the terminal is for us, and it may be writing the snapshot that we then want.
pid_t start(const std::string& path, const std::vector<std::string>& arguments, const Ends& ends) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, ends.in[1], 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends.out[1], 1);
  ::posix_spawn_file_actions_adddup2(&actions, ends.complaint[1], 2);
  sigset_t none, usual;
  ::sigemptyset(&none);
  ::sigemptyset(&usual);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&usual, signal);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  pid_t process = -1;
  const int failure = ::posix_spawn(&process, path.c_str(), &actions, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw std::runtime_error(path + " cannot be started: " + std::strerror(failure));
  return process;
}

}  // namespace

std::string tidy(std::string text) {
  for (size_t i = 0; i < text.size();) {
    const size_t bytes = character(std::string_view(text).substr(i));
    if (bytes == 0) text[i] = '?';
    if (bytes == 1 && (uint8_t(text[i]) < 32 || text[i] == 127)) text[i] = ' ';
    i += std::max<size_t>(1, bytes);
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

int run_helper(const std::string& program, const std::vector<std::string>& arguments) {
  const std::string path = companion_path(program);
  if (path.empty()) throw std::runtime_error(program + " is not beside the program");
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t process = -1;
  if (const int failure = ::posix_spawn(&process, path.c_str(), nullptr, nullptr, argv.data(), environ))
    throw std::runtime_error(path + " cannot be started: " + std::strerror(failure));
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  throw std::runtime_error(program + " ended in a crash (" + ::strsignal(WTERMSIG(status)) + ")");
}

HelperProcess::HelperProcess(const std::string& program, const std::vector<std::string>& arguments) {
  const std::string path = companion_path(program);
  if (path.empty()) throw std::runtime_error(program + " is not beside the program");
  Ends ends;
  std::vector<std::string> all = {program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  process_ = start(path, all, ends);
  in_ = std::exchange(ends.in[0], -1);
  out_ = std::exchange(ends.out[0], -1);
  complaint_ = std::exchange(ends.complaint[0], -1);
}

HelperProcess::~HelperProcess() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  close_all();
}

void HelperProcess::close_all() {
  for (int* fd : {&in_, &out_, &complaint_}) close_one(*fd);
}

/// Until `fd` is ready; what it complains of meanwhile is kept, so that it never waits for us.
void HelperProcess::wait_for(int fd, short event) {
  for (;;) {
    pollfd ready[2] = {{fd, event, 0}, {complaint_, POLLIN, 0}};
    const int n = ::poll(ready, 2, kPatienceMilliseconds);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0)
      throw std::runtime_error("nothing came for " + std::to_string(kPatienceMilliseconds / 1000) + " seconds");
    if (n < 0) throw std::runtime_error(std::strerror(errno));
    if (ready[1].revents != 0) hear_complaint();
    if (ready[0].revents != 0) return;
  }
}

void HelperProcess::hear_complaint() {
  char text[512];
  const ssize_t n = ::read(complaint_, text, sizeof text);
  if (n > 0) said_.append(text, std::min(size_t(n), kLongestComplaint - std::min(kLongestComplaint, said_.size())));
  if (n == 0 || (n < 0 && errno != EINTR)) close_one(complaint_);
}

bool HelperProcess::send(std::string_view bytes) {
  if (in_ < 0) return false;
  while (!bytes.empty()) {
    wait_for(in_, POLLOUT);
    const ssize_t n =
        ::send(in_, bytes.data(), std::min<size_t>(bytes.size(), size_t(1) << 20), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return false;
    bytes.remove_prefix(size_t(n));
  }
  return true;
}

size_t HelperProcess::receive(char* bytes, size_t n) {
  if (out_ < 0) return 0;
  for (;;) {
    wait_for(out_, POLLIN);
    const ssize_t got = ::read(out_, bytes, n);
    if (got >= 0) return size_t(got);
    if (errno != EINTR) return 0;
  }
}

bool HelperProcess::receive_all(char* bytes, size_t n) {
  while (n > 0) {
    const size_t got = receive(bytes, n);
    if (got == 0) return false;
    bytes += got;
    n -= got;
  }
  return true;
}

std::string HelperProcess::finish(const std::string& doing) {
  if (process_ < 0) return doing + " it has ended before";
  close_one(in_);
  close_one(out_);
  while (complaint_ >= 0) wait_for(complaint_, POLLIN);
  int status = 0;
  pid_t ended;
  do ended = ::waitpid(process_, &status, 0);
  while (ended < 0 && errno == EINTR);
  process_ = -1;
  return ended < 0 ? tidy(said_) : verdict(status, doing);  // without its status, words must do
}

std::string HelperProcess::verdict(int status, const std::string& doing) const {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) return doing + " it does not end";
  if (WIFSIGNALED(status)) return doing + " it ended in a crash (" + ::strsignal(WTERMSIG(status)) + ")";
  const std::string said = tidy(said_);
  return said.empty() ? doing + " it ended with status " + std::to_string(WEXITSTATUS(status)) : said;
}

}  // namespace cortado

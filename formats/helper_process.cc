#include "formats/helper_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "core/process/program_path.h"

namespace cortado {

namespace {

constexpr int kPatienceMilliseconds = 300'000;
constexpr size_t kMaxComplaintLength = 2000;

/// The length in bytes of the first UTF-8 character of `text`, 0 if it is invalid.
size_t character(std::string_view text) {
  const uint8_t first = uint8_t(text[0]);
  const size_t bytes = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (bytes > text.size()) return 0;
  for (size_t i = 1; i < bytes; ++i)
    if ((uint8_t(text[i]) & 0xC0) != 0x80) return 0;
  return bytes;
}

/// The argument vector: the program's path, then its arguments.
std::vector<std::string> words_of(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {companion_path(program)};
  if (words[0].empty()) throw std::runtime_error(program + " is not installed");
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

/// A pipe made of sockets: unlike write(), send() can suppress SIGPIPE if the reader has exited.
Pipe socket_pipe() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error(std::strerror(errno));
  return {Descriptor(ends[1]), Descriptor(ends[0])};
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
  Process process({.words = words_of(program, arguments)});
  const ProcessEnd end = process.wait().value_or(ProcessEnd{});
  if (end.signal != 0) throw std::runtime_error(program + " crashed (" + end.crash() + ")");
  return end.code;
}

/// Starts the helper in its own process group: Ctrl-C must not end it while it writes the final snapshot.
HelperProcess::HelperProcess(const std::string& program, const std::vector<std::string>& arguments) {
  const std::vector<std::string> words = words_of(program, arguments);
  Pipe in = socket_pipe(), out = make_pipe(), complaint = make_pipe();
  process_.emplace(ProcessOptions{.words = words,
                                  .bond = ProcessOptions::Bond::kGroup,
                                  .in = in.read.fd(),
                                  .out = out.write.fd(),
                                  .error = complaint.write.fd()});
  in_ = std::move(in.write);
  out_ = std::move(out.read);
  complaint_ = std::move(complaint.read);
}

/// Waits until `fd` is ready. Drains the helper's stderr meanwhile, so that the helper never blocks on it.
void HelperProcess::wait_for(int fd, short event) {
  for (;;) {
    pollfd ready[2] = {{fd, event, 0}, {complaint_.fd(), POLLIN, 0}};
    const int n = ::poll(ready, 2, kPatienceMilliseconds);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0)
      throw std::runtime_error("no response for " + std::to_string(kPatienceMilliseconds / 1000) + " seconds");
    if (n < 0) throw std::runtime_error(std::strerror(errno));
    if (ready[1].revents != 0) drain_stderr();
    if (ready[0].revents != 0) return;
  }
}

void HelperProcess::drain_stderr() {
  char text[512];
  const ssize_t n = ::read(complaint_.fd(), text, sizeof text);
  if (n > 0) said_.append(text, std::min(size_t(n), kMaxComplaintLength - std::min(kMaxComplaintLength, said_.size())));
  if (n == 0 || (n < 0 && errno != EINTR)) complaint_ = Descriptor();
}

bool HelperProcess::send(std::string_view bytes) {
  if (!in_.ok()) return false;
  while (!bytes.empty()) {
    wait_for(in_.fd(), POLLOUT);
    const ssize_t n =
        ::send(in_.fd(), bytes.data(), std::min<size_t>(bytes.size(), size_t(1) << 20), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return false;
    bytes.remove_prefix(size_t(n));
  }
  return true;
}

size_t HelperProcess::receive(char* bytes, size_t n) {
  if (!out_.ok()) return 0;
  for (;;) {
    wait_for(out_.fd(), POLLIN);
    const ssize_t got = ::read(out_.fd(), bytes, n);
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
  if (!process_) return doing + " it failed: the process has exited already";
  in_ = Descriptor();
  out_ = Descriptor();
  try {
    while (complaint_.ok()) wait_for(complaint_.fd(), POLLIN);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  const std::optional<ProcessEnd> end = process_->wait();
  process_.reset();
  return end ? verdict(*end, doing) : tidy(said_);  // the exit status is unknown
}

std::string HelperProcess::verdict(const ProcessEnd& end, const std::string& doing) const {
  if (end.shell_code() == 0) return "";
  if (end.signal == SIGXCPU) return doing + " it exceeded the CPU time limit";
  if (end.signal != 0) return doing + " it crashed (" + end.crash() + ")";
  const std::string said = tidy(said_);
  return said.empty() ? doing + " it failed with exit status " + std::to_string(end.code) : said;
}

}  // namespace cortado

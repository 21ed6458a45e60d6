#include "studio/child.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "core/error.h"
#include "core/process/process.h"
#include "core/process/program_path.h"
#include "http/request_error.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

constexpr size_t kMaxError = 1 << 20;
constexpr std::chrono::milliseconds kChildLook(100);

/// Starts a program in a folder, with only the three standard descriptors.
Process start_program(const std::vector<std::string>& words, ProcessOptions::Bond bond, const std::string& folder,
                      int out, int error) {
  const Descriptor nothing("/dev/null", O_RDONLY);
  try {
    return Process({.words = words, .bond = bond, .folder = folder, .in = nothing.fd(), .out = out, .error = error});
  } catch (const std::runtime_error& failure) {
    throw RequestError(Refusal::kInternal, failure.what());
  }
}

Pipe make_pipe_or_refuse() {
  try {
    return make_pipe();
  } catch (const std::runtime_error&) {
    throw RequestError(Refusal::kUnavailable, "out of file descriptors");
  }
}

/// Reads available bytes; closes the pipe at its end.
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
  Pipe out = make_pipe_or_refuse(), err = make_pipe_or_refuse();
  Process child = start_program(words, ProcessOptions::Bond::kLife, options.folder, out.write.fd(), err.write.fd());
  if (options.on_start) options.on_start(child.id());
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
    if (result.out.size() > options.most_out) throw RequestError(Refusal::kTooLarge, "its output is too large");
    if (!wanted[1].revents) continue;
    const std::string text = take(err.read);
    if (options.on_err && !text.empty()) options.on_err(text);
    result.err += text;
    if (result.err.size() > kMaxError) result.err.erase(0, result.err.size() - kMaxError);
  }
  result.code = child.wait().value_or(ProcessEnd{}).shell_code();
  return result;
}

pid_t start_child(const std::vector<std::string>& words, const std::string& folder, const std::string& log) {
  const Descriptor file(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0666);
  if (!file.ok()) throw RequestError(Refusal::kInternal, log + ": " + std::strerror(errno));
  return start_program(words, ProcessOptions::Bond::kSession, folder, file.fd(), file.fd()).release();
}

int ended_child(pid_t process) {
  const std::optional<ProcessEnd> end = ended_process(process);
  return end ? end->shell_code() : -1;
}

std::string cortado_program() {
  const std::string path = companion_path("cortado");
  if (path.empty())
    throw Error(ExitCode::kIo, "the program cortado is missing next to cortado-studio",
                "install both programs from the same build");
  return path;
}

}  // namespace cortado::studio

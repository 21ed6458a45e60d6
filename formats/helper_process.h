#pragma once

// A program of ours that does what must not happen in this process, beside /proc/self/exe, with pipes at both ends.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/process/process.h"

namespace cortado {

class HelperProcess {
 public:
  /// Starts `program` of the folder that this process's program is in. Throws std::runtime_error saying why it cannot.
  /// It is ended, if it still runs, when this goes.
  HelperProcess(const std::string& program, const std::vector<std::string>& arguments);
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  /// To its standard input; false: it takes no more. Throws std::runtime_error where it does nothing for minutes.
  /// After finish() it takes and gives nothing.
  bool send(std::string_view bytes);
  /// From its standard output, up to `n` bytes; 0: there will be no more. Throws like send().
  size_t receive(char* bytes, size_t n);
  /// receive() until all `n` are there; false: there are not so many.
  bool receive_all(char* bytes, size_t n);

  /// Closes its input, waits for its end and says what went wrong: its own words, or that `doing` ("reading") the file
  /// ended in a crash, or that it does nothing for minutes, or "".
  std::string finish(const std::string& doing);

 private:
  void wait_for(int fd, short event);
  void drain_stderr();
  std::string verdict(const ProcessEnd& end, const std::string& doing) const;

  Descriptor in_, out_, complaint_;
  std::optional<Process> process_;  ///< the first to go: the end of its input is no end of what it was to be given
  std::string said_;
};

/// Runs `program` of that folder as a part of this one, with its input, output and terminal; its exit code. Throws
/// std::runtime_error where it cannot be started, or ended in a crash.
int run_helper(const std::string& program, const std::vector<std::string>& arguments);

/// What a program says, or a file, as a message: one line without control characters. Names out of damaged files are
/// not always text.
std::string tidy(std::string text);

}  // namespace cortado

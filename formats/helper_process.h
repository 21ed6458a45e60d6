#pragma once

// Runs a helper program from this executable's folder, connected by pipes. Helpers isolate libraries that may crash.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/process/process.h"

namespace cortado {

class HelperProcess {
 public:
  /// Starts `program` from the folder of this executable. Throws std::runtime_error with the reason if that fails. The
  /// destructor ends the process if it still runs.
  HelperProcess(const std::string& program, const std::vector<std::string>& arguments);
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  /// Writes to its standard input; false if the helper has closed it. Throws std::runtime_error after five minutes
  /// without progress. Must not be called after finish().
  bool send(std::string_view bytes);
  /// Reads up to `n` bytes from its standard output; 0 at the end. Throws like send().
  size_t receive(char* bytes, size_t n);
  /// Reads exactly `n` bytes; false if the output ends before.
  bool receive_all(char* bytes, size_t n);

  /// Closes its input, waits for its exit and returns the error: its stderr, or that it crashed or hung while `doing`
  /// ("reading") the file; "" on success.
  std::string finish(const std::string& doing);

 private:
  void wait_for(int fd, short event);
  void drain_stderr();
  std::string verdict(const ProcessEnd& end, const std::string& doing) const;

  Descriptor in_, out_, complaint_;
  std::optional<Process> process_;  ///< destroyed first: closing the input before would look like the end of the data
  std::string said_;
};

/// Runs `program` from that folder with this process's standard streams; returns its exit code. Throws
/// std::runtime_error if it cannot be started or crashes.
int run_helper(const std::string& program, const std::vector<std::string>& arguments);

/// Converts output of a program or names from a file to a message: one line without control characters. Names in
/// damaged files need not be valid UTF-8.
std::string tidy(std::string text);

}  // namespace cortado

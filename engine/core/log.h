#pragma once

#include <sstream>
#include <string>

namespace cortado {

enum class Severity { kInfo, kWarning, kError };

/// For programs only: routes lines through glog, whose flags and environment variables then apply. Without this call
/// (in a library) glog is left to the host program, and lines go directly to stderr in the same format: glog's without
/// the year ("I1120 23:36:34.067811 14167 solver.cc:45] ..."), as parsers of Caffe logs expect.
void start_logging(const char* program);

/// Sets the lowest severity that is shown. The default is GLOG_minloglevel, or all.
void set_log_level(Severity lowest);

/// Writes one line. A progress line on a terminal is erased first; its owner redraws it.
void log_line(Severity severity, const char* file, int line, const std::string& text);

/// Also writes every line, of any severity, to this descriptor; -1 stops it. The caller keeps ownership. Write errors
/// are ignored.
void copy_log_to(int descriptor);

/// Sets a function that runs before each log line, for example to erase a progress line; null removes it.
void set_before_log(void (*hook)());

/// Builds one log line: `log_info() << "Iteration " << n;`
class LogStream {
 public:
  explicit LogStream(Severity severity, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : severity_(severity), file_(file), line_(line) {}
  ~LogStream();  ///< writes the line; without enough memory, one that says so
  template <typename T>
  LogStream& operator<<(const T& value) {
    text_ << value;
    return *this;
  }

 private:
  Severity severity_;
  const char* file_;
  int line_;
  std::ostringstream text_;  // formats floats as "%g" with 6 digits, as Caffe does
};

inline LogStream log_info(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return LogStream(Severity::kInfo, file, line);
}
inline LogStream log_warning(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return LogStream(Severity::kWarning, file, line);
}
inline LogStream log_error(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return LogStream(Severity::kError, file, line);
}

}  // namespace cortado

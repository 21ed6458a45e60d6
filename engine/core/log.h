#pragma once

#include <sstream>
#include <string>

namespace cortado {

enum class Severity { kInfo, kWarning, kError };

/// For programs alone: lines go through glog, and its flags and variables have their meaning. Elsewhere glog is the
/// host's, if it has it, and lines go to stderr past it, in the same format: glog's without the year ("I1120
/// 23:36:34.067811 14167 solver.cc:45] ..."), which parsers of Caffe logs read.
void start_logging(const char* program);

/// Lowest severity that is shown; at first what GLOG_minloglevel says, else all.
void set_log_level(Severity lowest);

/// Shows one line. A progress line on a terminal is erased first and drawn again by its owner.
void log_line(Severity severity, const char* file, int line, const std::string& text);

/// From now on every line is written to this descriptor too, whatever level is shown; -1 ends it. The descriptor stays
/// the caller's. A line that cannot be written there is lost.
void copy_log_to(int descriptor);

/// Called before each log line is written, so that a progress line can get out of the way. Null to remove.
void set_before_log(void (*hook)());

/// One log line being put together: `log_info() << "Iteration " << n;`
class LogStream {
 public:
  explicit LogStream(Severity severity, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : severity_(severity), file_(file), line_(line) {}
  ~LogStream() { log_line(severity_, file_, line_, text_.str()); }
  template <typename T>
  LogStream& operator<<(const T& value) {
    text_ << value;
    return *this;
  }

 private:
  Severity severity_;
  const char* file_;
  int line_;
  std::ostringstream text_;  // "%g" with 6 digits, as Caffe's lines have
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

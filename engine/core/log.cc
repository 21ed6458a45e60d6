// Log output through glog; only this file includes it. glog 0.6 writes the year into the prefix by default, which
// parsers of Caffe logs do not expect.
#include "core/log.h"

#include <glog/logging.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <new>

namespace cortado {

namespace {

std::atomic<void (*)()> before_log{nullptr};
std::atomic<int> copy_descriptor{-1};
std::atomic<bool> is_program{false};

int level_of_environment() {
  const char* level = std::getenv("GLOG_minloglevel");
  return level ? std::atoi(level) : 0;
}

/// The level in a library; programs use glog's flag.
std::atomic<int>& host_level() {
  static std::atomic<int> level{level_of_environment()};
  return level;
}

google::LogSeverity glog_severity(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return google::GLOG_INFO;
    case Severity::kWarning:
      return google::GLOG_WARNING;
    case Severity::kError:
      break;
  }
  return google::GLOG_ERROR;
}

/// Writes a line in glog's format, for lines that do not go through glog. Uses one write so that lines of several
/// threads do not interleave.
void write_line(int to, Severity severity, const char* file, int line, const std::string& text) {
  timeval now{};
  ::gettimeofday(&now, nullptr);
  std::tm local{};
  ::localtime_r(&now.tv_sec, &local);
  const char* slash = std::strrchr(file, '/');
  char head[160];
  std::snprintf(head, sizeof head, "%c%02d%02d %02d:%02d:%02d.%06ld %5d %.80s:%d] ", "IWE"[int(severity)],
                local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, long(now.tv_usec),
                int(::gettid()), slash ? slash + 1 : file, line);
  const std::string whole = head + text + "\n";
  [[maybe_unused]] const ssize_t written = ::write(to, whole.data(), whole.size());
}

}  // namespace

/// call_once, because glog aborts when it is initialized twice.
void start_logging(const char* program) {
  static std::once_flag once;
  std::call_once(once, [program] {
    static const std::string name = program;  // glog keeps the pointer
    FLAGS_logtostderr = true;
    FLAGS_log_year_in_prefix = false;
    google::InitGoogleLogging(name.c_str());
    is_program = true;
  });
}

void set_log_level(Severity lowest) {
  if (is_program)
    FLAGS_minloglevel = glog_severity(lowest);
  else
    host_level() = glog_severity(lowest);
}

/// Trailing newlines are removed, because parsers of Caffe logs fail on empty lines.
void log_line(Severity severity, const char* file, int line, const std::string& lines) {
  const std::string text = lines.substr(0, lines.find_last_not_of('\n') + 1);
  if (const int to = copy_descriptor.load(); to >= 0) write_line(to, severity, file, line, text);
  if (glog_severity(severity) < (is_program ? FLAGS_minloglevel : host_level().load())) return;
  if (void (*hook)() = before_log.load()) hook();
  if (is_program)
    google::LogMessage(file, line, glog_severity(severity)).stream() << text;
  else
    write_line(STDERR_FILENO, severity, file, line, text);
}

LogStream::~LogStream() {
  try {
    log_line(severity_, file_, line_, text_.str());
  } catch (const std::bad_alloc&) {
    constexpr char kLost[] = "(not enough memory for a log line)\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kLost, sizeof kLost - 1);
  }
}

void copy_log_to(int descriptor) { copy_descriptor.store(descriptor); }

void set_before_log(void (*hook)()) { before_log.store(hook); }

}  // namespace cortado

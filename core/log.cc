// Log lines through glog, which is seen in this file alone. glog 0.6 writes the year into the prefix unless told not
// to, and parsers of Caffe logs do not expect it.
#include "core/log.h"

#include <glog/logging.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>

namespace cortado {

namespace {

std::atomic<void (*)()> before_log{nullptr};
std::atomic<int> copy_descriptor{-1};

/// glog ends the process when it is set up twice, and prints a warning of its own when it is used before.
void start_once(const char* program) {
  static std::once_flag once;
  std::call_once(once, [program] {
    static const std::string name = program;  // glog keeps the pointer
    FLAGS_logtostderr = true;
    FLAGS_log_year_in_prefix = false;
    google::InitGoogleLogging(name.c_str());
  });
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

/// In glog's format, which hidden lines never reach; in one write, so that lines of several threads stay whole.
void write_copy(int to, Severity severity, const char* file, int line, const std::string& text) {
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

void start_logging(const char* program) { start_once(program); }

void set_log_level(Severity lowest) { FLAGS_minloglevel = glog_severity(lowest); }

void log_line(Severity severity, const char* file, int line, const std::string& text) {
  start_once("cortado");
  if (const int to = copy_descriptor.load(); to >= 0) write_copy(to, severity, file, line, text);
  if (glog_severity(severity) < FLAGS_minloglevel) return;
  if (void (*hook)() = before_log.load()) hook();
  google::LogMessage(file, line, glog_severity(severity)).stream() << text;
}

void copy_log_to(int descriptor) { copy_descriptor.store(descriptor); }

void set_before_log(void (*hook)()) { before_log.store(hook); }

}  // namespace cortado

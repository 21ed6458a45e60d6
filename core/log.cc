// Log lines through glog, which is seen in this file alone. glog 0.6 writes the year into the prefix unless told not
// to, and parsers of Caffe logs do not expect it.
#include "core/log.h"

#include <glog/logging.h>

#include <atomic>
#include <mutex>

namespace cortado {

namespace {

std::atomic<void (*)()> before_log{nullptr};

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

}  // namespace

void start_logging(const char* program) { start_once(program); }

void set_log_level(Severity lowest) { FLAGS_minloglevel = glog_severity(lowest); }

void log_line(Severity severity, const char* file, int line, const std::string& text) {
  start_once("cortado");
  if (glog_severity(severity) < FLAGS_minloglevel) return;
  if (void (*hook)() = before_log.load()) hook();
  google::LogMessage(file, line, glog_severity(severity)).stream() << text;
}

void set_before_log(void (*hook)()) { before_log.store(hook); }

}  // namespace cortado

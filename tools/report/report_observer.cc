#include "tools/report/report_observer.h"

#include "core/error.h"
#include "core/log.h"
#include "tools/report/report.h"

namespace cortado::tools {

void ReportObserver::on_snapshot(const Progress&, const std::string&) {
  try {
    write_report(run_, nullptr);
  } catch (const Error& error) {
    log_warning() << "no report is written: " << error.mistakes()[0].message;
  }
}

}  // namespace cortado::tools

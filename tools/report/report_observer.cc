#include "tools/report/report_observer.h"

#include "core/error.h"
#include "core/log.h"
#include "tools/report/report.h"

namespace cortado::tools {

void ReportObserver::on_snapshot(const Progress&, const std::string&) {
  try {
    write_report(run_, nullptr);
  } catch (const Error& error) {
    log_warning() << "cannot write the report: " << error.mistakes()[0].message;
  }
}

}  // namespace cortado::tools

// `cortado report`: updates a run's report.html.
#include <iostream>

#include "core/log.h"
#include "core/text/json.h"
#include "tools/options/run_options.h"
#include "tools/program/command.h"
#include "tools/report/report.h"
#include "tools/runs/run_folder.h"

namespace cortado::tools {

namespace {

int run_report(const Arguments& arguments) {
  set_log_level(Severity::kWarning);
  CommandContext context(arguments);
  for (const std::string& run : arguments.operands()) {
    Context* const computes = arguments.on("light") ? nullptr : &context;
    if (arguments.on("json")) {
      std::cout << dumped_json(report_of(run, computes), 2) << "\n";
    } else {
      write_report(run, computes);
      std::cout << runs::RunPaths(run).report << "\n";
    }
  }
  return 0;
}

}  // namespace

Command report_command() {
  return {.name = "report",
          .summary = "Write report.html of training runs",
          .flags = joined(
              {{{.name = "light", .help = "leave out the test set's results and the layers' times"}, json_flag()},
               device_flags()}),
          .operands = {"RUN...", "runs' folders", 1, 1000},
          .examples = {{"cortado report runs/first", "update runs/first/report.html, one file that any browser opens"},
                       {"cortado report runs/first --json", "its content, for scripts"}},
          .run = run_report,
          .about =
              "A training writes its report at each snapshot, and with all sections at its end. Paths of data are "
              "relative to the current folder."};
}

}  // namespace cortado::tools

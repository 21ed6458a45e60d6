// `cortado report`: writes a run's report.html anew.
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
          .summary = "writes report.html of a training's --run folder",
          .flags = joined({{{.name = "light",
                             .help = "without what has to be computed: the test set's results, the times of layers"},
                            json_flag()},
                           device_flags()}),
          .operands = {"RUN...", "run folders", 1, 1000},
          .examples = {{"cortado report runs/first", "writes runs/first/report.html: one file, to be opened anywhere"},
                       {"cortado report runs/first --json", "what it shows, for programs"}},
          .run = run_report,
          .about =
              "A training writes its report at each snapshot, without the sections that have to be computed, and "
              "whole at its end. Paths of data are taken from the current folder."};
}

}  // namespace cortado::tools

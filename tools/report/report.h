#pragma once

// report.html of a run: one page without external files.

#include <nlohmann/json.hpp>
#include <string>

#include "core/context.h"

namespace cortado::tools {

/// The data of the page. With a `context`, the net is drawn, the test set is run through the best or else newest
/// weights, and a few iterations of the training net are timed, skipping up to `skip_bad` bad records. Without a
/// context these sections are missing. Throws Error if the folder is not a run. Errors of single sections are in
/// "notes".
nlohmann::ordered_json report_of(const std::string& run, Context* context, int64_t skip_bad = 0);

/// Writes RUN/report.html. Throws as report_of() does, and Error(kIo).
void write_report(const std::string& run, Context* context, int64_t skip_bad = 0);

}  // namespace cortado::tools

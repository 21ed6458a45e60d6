#pragma once

// report.html of a run: one page, nothing from outside.

#include <nlohmann/json.hpp>
#include <string>

#include "core/context.h"

namespace cortado::tools {

/// All that the page shows. With a `context` the test set is run through the weights that are kept as best, or the
/// newest ones, and a few iterations of the training net are timed; without one these sections are left out. Throws
/// Error where the folder is no run's; why something could not be computed stands in "notes".
nlohmann::ordered_json report_of(const std::string& run, Context* context);

/// Writes RUN/report.html. Throws as report_of() does, and Error(kIo).
void write_report(const std::string& run, Context* context);

/// The page that shows `report`.
std::string report_page(const nlohmann::ordered_json& report);

}  // namespace cortado::tools

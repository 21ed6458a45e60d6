#pragma once

#include <string>

#include "tools/options/run_source.h"

namespace cortado::tools {

/// The command line that uses what a run trained: `cortado classify RUN image.jpg`, `detect` for a detector, `test` for
/// a net that does not read images. Throws as reading the net does.
std::string next_command(const std::string& run, const RunSource& source);

}  // namespace cortado::tools

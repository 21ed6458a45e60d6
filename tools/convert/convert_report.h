#pragma once

#include <string>

#include "data/convert/convert.h"

namespace cortado::tools {

/// Names bad samples on stderr: as warnings where they were `left_out`, else as errors.
void show_rejects(const data::ConvertReport& report, bool left_out);

/// On stdout: what was written to `output`, sizes, samples of each class, doubles and black images, with advice.
void show_report(const data::ConvertReport& report, const std::string& output);
void show_report_json(const data::ConvertReport& report, const std::string& output);

}  // namespace cortado::tools

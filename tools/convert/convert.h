#pragma once

#include <string>
#include <vector>

#include "data/convert/convert.h"
#include "tools/program/command.h"

namespace cortado::tools {

Command convert_onnx_command();  ///< runs the program cortado-onnx
Command convert_weights_command();

/// Reports bad samples on stderr: as warnings if they were `left_out`, else as errors.
void show_rejects(const data::ConvertReport& report, bool left_out);

/// Writes to stdout: the records written to `output`, sizes, samples of each class, duplicates and black images, with
/// hints.
void show_report(const data::ConvertReport& report, const std::string& output);
void show_report_json(const data::ConvertReport& report, const std::string& output);

}  // namespace cortado::tools

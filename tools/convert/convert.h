#pragma once

#include <string>
#include <vector>

#include "data/convert/convert.h"
#include "tools/options/flags.h"

namespace cortado::tools {

/// `cortado convert onnx NET WEIGHTS... -o MODEL` and `cortado convert onnx MODEL -o NET --weights=OUT`, which the
/// program cortado-onnx does. `files` are the operands behind "onnx". Returns the exit code; throws Error.
int convert_onnx(const Arguments& arguments, const std::vector<std::string>& files);

/// The flags of `convert` that only it looks at.
std::vector<Flag> onnx_flags();

/// `cortado convert weights IN OUT`, and `cortado convert weights IN --list`. `files` are the operands behind
/// "weights". Returns the exit code; throws Error.
int convert_weights(const Arguments& arguments, std::vector<std::string> files);

/// The flags of `convert` that only it looks at.
std::vector<Flag> weights_flags();

/// Names bad samples on stderr: as warnings where they were `left_out`, else as errors.
void show_rejects(const data::ConvertReport& report, bool left_out);

/// On stdout: what was written to `output`, sizes, samples of each class, doubles and black images, with advice.
void show_report(const data::ConvertReport& report, const std::string& output);
void show_report_json(const data::ConvertReport& report, const std::string& output);

}  // namespace cortado::tools

#pragma once

#include <string>
#include <vector>

#include "tools/options/flags.h"

namespace cortado::tools {

/// `cortado convert onnx NET WEIGHTS... -o MODEL` and `cortado convert onnx MODEL -o NET --weights=OUT`, which the
/// program cortado-onnx does. `files` are the operands behind "onnx". Returns the exit code; throws Error.
int convert_onnx(const Arguments& arguments, const std::vector<std::string>& files);

/// The flags of `convert` that only it looks at.
std::vector<Flag> onnx_flags();

}  // namespace cortado::tools

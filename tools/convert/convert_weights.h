#pragma once

#include <string>
#include <vector>

#include "tools/options/flags.h"

namespace cortado::tools {

/// `cortado convert weights IN OUT`, and `cortado convert weights IN --list`. `files` are the operands behind
/// "weights". Returns the exit code; throws Error.
int convert_weights(const Arguments& arguments, std::vector<std::string> files);

/// The flags of `convert` that only it looks at.
std::vector<Flag> weights_flags();

}  // namespace cortado::tools

#pragma once

#include <string>
#include <string_view>

#include "proto/text/positions.h"

namespace cortado::tools {

/// The text of a solver with another base_lr, everything else as its author wrote it, and `comments` (lines that begin
/// with #) above. Where it has no base_lr one is added. `positions` are the text's.
std::string with_base_lr(std::string_view text, const Positions& positions, double rate, const std::string& comments);

}  // namespace cortado::tools

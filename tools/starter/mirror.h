#pragma once

#include <string>
#include <vector>

namespace cortado::tools {

/// Why images of classes with these names must not be mirrored: most are digits, letters or numbers, by themselves or
/// spelt out ("7", "seven", "letter_b", "Alpha"), or one names a side ("TurnLeft"). "": nothing speaks against it.
std::string why_not_mirrored(const std::vector<std::string>& names);

}  // namespace cortado::tools

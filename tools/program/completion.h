#pragma once

#include <string>

namespace cortado::tools {

/// What a shell ("bash" or "zsh") reads to complete commands, their flags and the flags' values, made from the tables.
std::string completion_script(const std::string& shell);

}  // namespace cortado::tools

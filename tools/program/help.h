#pragma once

#include <string>

#include "tools/program/command.h"

namespace cortado::tools {

std::string program_help();                        ///< what `cortado` alone prints
std::string command_help(const Command& command);  ///< what `cortado COMMAND --help` prints
std::string usage_line(const Command& command);    ///< "usage: cortado train --solver=FILE [flags]"
std::string version_line();                        ///< "cortado 0.1.0"

}  // namespace cortado::tools

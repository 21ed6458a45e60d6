#pragma once

#include <string>

#include "tools/program/command.h"

namespace cortado::tools {

std::string program_help();                        ///< what `cortado` alone prints
std::string command_help(const Command& command);  ///< what `cortado COMMAND --help` prints
std::string usage_line(const Command& command);    ///< "usage: cortado train --solver=FILE [flags]"
std::string version_line();                        ///< "cortado 0.1.0"

/// Pages of section 1 in roff's man macros, made from the tables: the program's, and one command's (cortado-train).
std::string program_man_page();
std::string command_man_page(const Command& command);

/// What a shell ("bash" or "zsh") reads to complete commands, their flags and the flags' values, made from the tables.
std::string completion_script(const std::string& shell);

}  // namespace cortado::tools

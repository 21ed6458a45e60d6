#pragma once

#include <string>

#include "tools/program/command.h"

namespace cortado::tools {

/// Pages of section 1 in roff's man macros, made from the tables: the program's, and one command's (cortado-train).
std::string program_man_page();
std::string command_man_page(const Command& command);

}  // namespace cortado::tools

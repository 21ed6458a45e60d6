#pragma once

#include <string>

#include "tools/program/command.h"

namespace cortado::tools {

enum class HelpLength { kShort, kFull };

std::string program_help();  ///< what `cortado` alone prints: the commands in groups
/// What `cortado COMMAND -h` (the usual flags) and `cortado COMMAND --help` (all flags and examples) print.
std::string command_help(const Command& command, HelpLength length);
std::string usage_line(const Command& command);  ///< "usage: cortado test NET [WEIGHTS] [flags]"
std::string version_line();                      ///< "cortado 0.1.0"

/// The words of a command line after `cortado`: the command, its operands, required flags, "[flags]".
std::string synopsis(const Command& command);
std::string spelling(const Flag& flag);     ///< "-o, --output=FILE"
std::string value_notes(const Flag& flag);  ///< " [values: a, b] [default: a]", or ""

/// Pages of section 1 in roff's man macros, made from the tables: the program's, and one command's (cortado-train).
std::string program_man_page();
std::string command_man_page(const Command& command);

/// The script that a shell ("bash" or "zsh") reads to complete commands, flags and values, made from the tables.
std::string completion_script(const std::string& shell);

/// All commands and flags as Markdown (docs/commands.md), and as JSON.
std::string commands_page();
std::string commands_json();

}  // namespace cortado::tools

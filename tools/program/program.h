#pragma once

// Code shared by the programs of this project that read flags: their start, and how errors become text and an exit
// code.

#include <string>
#include <vector>

#include "tools/program/command.h"

namespace cortado::tools {

/// Reads the flags in `words`, answers --help, or runs the command. Reports an Error. Returns the exit code.
int run_command(const Command& command, const std::vector<std::string>& words);

/// main() of a program: prepares the process, calls `run` with the program's name and the words after it, and reports
/// exceptions. Returns the exit code.
int program_main(int argc, char** argv, int (*run)(const std::string& name, const std::vector<std::string>& words));

/// Writes help to stdout. Returns 0.
int show_help(const std::string& text);

}  // namespace cortado::tools

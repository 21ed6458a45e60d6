#pragma once

// What the programs of this project that read flags have in common: their start, and how failures become text and an
// exit code.

#include <string>
#include <vector>

#include "tools/program/command.h"

namespace cortado::tools {

/// Reads the flags in `words`, answers --help, or runs the command. Returns the exit code; an Error is told.
int run_command(const Command& command, const std::vector<std::string>& words);

/// main() of a program: prepares the process, calls `run` with the name that the program was called by and the words
/// behind it, tells what it throws, and returns the exit code.
int program_main(int argc, char** argv, int (*run)(const std::string& name, const std::vector<std::string>& words));

/// Writes help to stdout; 0.
int show_help(const std::string& text);

}  // namespace cortado::tools

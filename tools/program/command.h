#pragma once

#include <string>
#include <vector>

#include "tools/options/flags.h"

namespace cortado::tools {

/// A line to type, and what it does.
struct Example {
  std::string line, meaning;
};

/// One command of the program: what help shows, what it takes, what it does.
struct Command {
  std::string name;
  std::string summary;  ///< one line, for the list of commands
  std::vector<Flag> flags;
  Operands operands;
  std::vector<Example> examples;
  int (*run)(const Arguments& arguments);  ///< returns the exit code; throws Error
  std::string about{};                     ///< a paragraph for the command's own help; may be empty
};

/// Every command, in the order in which help lists them.
const std::vector<Command>& all_commands();
const Command& command_named(const std::string& name);  ///< throws Error(kUsage) with the nearest name

/// Flags that every command takes: --help, --quiet, --no-color and glog's own.
const std::vector<Flag>& common_flags();

/// The command's table and the common one.
std::vector<Flag> flags_of(const Command& command);

// One function a command, each in the file of its name.
Command train_command();
Command runs_command();
Command report_command();
Command snapshot_command();
Command test_command();
Command time_command();
Command check_command();
Command summary_command();
Command plan_command();
Command draw_command();
Command deploy_command();
Command classify_command();
Command detect_command();
Command infer_command();
Command serve_command();
Command studio_command();
Command quantize_command();
Command features_command();
Command convert_command();
Command mean_command();
Command upgrade_command();
Command data_command();
Command new_command();
Command tune_command();
Command devices_command();
Command layers_command();
Command help_command();

}  // namespace cortado::tools

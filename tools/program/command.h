#pragma once

#include <string>
#include <vector>

#include "tools/options/flags.h"

namespace cortado::tools {

/// A line to type, and what it does.
struct Example {
  std::string line, meaning;
};

/// A command of the program: what help shows, what it accepts, what it does.
struct Command {
  std::string name;     ///< "train"; a subcommand's has its command's before it: "convert idx"
  std::string summary;  ///< one imperative line, for lists of commands
  std::vector<Flag> flags{};
  Operands operands{};
  std::vector<Example> examples{};
  int (*run)(const Arguments& arguments) = nullptr;  ///< returns the exit code; throws Error
  std::string about{};                               ///< a paragraph for the command's own help; may be empty
  std::vector<Command> subcommands{};                ///< where there are some, `flags` and `run` are empty
  std::string otherwise{};                           ///< the subcommand to run if none is named; "": it is required

  std::vector<std::string> subcommand_names() const;                          ///< "idx", ...
  std::string last_word() const { return name.substr(name.rfind(' ') + 1); }  ///< "idx" of "convert idx"
};

struct CommandGroup {
  std::string title;
  std::vector<Command> commands;
};

/// Every command, in the order in which help lists them.
const std::vector<CommandGroup>& command_groups();
const std::vector<const Command*>& all_commands();
/// The commands that run: a command with subcommands is replaced by these.
const std::vector<const Command*>& runnable_commands();

const Command& command_named(const std::string& name);  ///< throws Error(kUsage) with the nearest name
/// Throws Error(kUsage) with the nearest name.
const Command& subcommand_named(const Command& command, const std::string& name);
const Command* find_subcommand(const Command& command, const std::string& name);  ///< null if there is none

/// Flags of every command: --help, --quiet, --no-color and glog's own.
const std::vector<Flag>& common_flags();

/// The command's table, or its subcommands' tables, and the common one.
std::vector<Flag> flags_of(const Command& command);

// One function for each command, in the file of its name.
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

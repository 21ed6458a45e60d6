#include "tools/program/command.h"

#include "core/cpu/isa_level.h"
#include "core/text/text.h"

namespace cortado::tools {

namespace {

Error unknown_name(const std::string& kind, const std::string& name, const std::vector<std::string>& names) {
  const std::string guess = did_you_mean(name, names);
  return usage_error("unknown " + kind + " '" + name + "'", guess.empty() ? "use one of " + list_text(names) : guess);
}

}  // namespace

const std::vector<CommandGroup>& command_groups() {
  static const std::vector<CommandGroup> groups = {
      {"Train",
       {new_command(), train_command(), test_command(), tune_command(), runs_command(), report_command(),
        snapshot_command()}},
      {"Data", {convert_command(), data_command(), mean_command()}},
      {"Inspect",
       {check_command(), summary_command(), draw_command(), plan_command(), time_command(), layers_command(),
        devices_command()}},
      {"Deploy",
       {deploy_command(), classify_command(), detect_command(), infer_command(), features_command(), quantize_command(),
        upgrade_command()}},
      {"Serve", {serve_command(), studio_command()}},
      {"Help", {help_command()}},
  };
  return groups;
}

const std::vector<const Command*>& all_commands() {
  static const std::vector<const Command*> commands = [] {
    std::vector<const Command*> list;
    for (const CommandGroup& group : command_groups())
      for (const Command& command : group.commands) list.push_back(&command);
    return list;
  }();
  return commands;
}

const std::vector<const Command*>& runnable_commands() {
  static const std::vector<const Command*> commands = [] {
    std::vector<const Command*> list;
    for (const Command* command : all_commands()) {
      if (command->subcommands.empty()) list.push_back(command);
      for (const Command& subcommand : command->subcommands) list.push_back(&subcommand);
    }
    return list;
  }();
  return commands;
}

const Command& command_named(const std::string& name) {
  std::vector<std::string> names;
  for (const Command* command : all_commands()) {
    if (command->name == name) return *command;
    names.push_back(command->name);
  }
  throw unknown_name("command", name, names);
}

std::vector<std::string> Command::subcommand_names() const {
  std::vector<std::string> names;
  for (const Command& subcommand : subcommands) names.push_back(subcommand.last_word());
  return names;
}

const Command* find_subcommand(const Command& command, const std::string& name) {
  for (const Command& subcommand : command.subcommands)
    if (subcommand.last_word() == name) return &subcommand;
  return nullptr;
}

const Command& subcommand_named(const Command& command, const std::string& name) {
  if (const Command* found = find_subcommand(command, name)) return *found;
  throw unknown_name("subcommand of " + command.name, name, command.subcommand_names());
}

const std::vector<Flag>& common_flags() {
  static const std::vector<Flag> flags = {
      {.name = "h", .help = "the usual flags"},
      {.name = "help", .help = "all flags, with examples"},
      {.name = "version", .help = "print the program's version", .letter = 'V'},
      {.name = "quiet", .help = "log warnings and errors only", .letter = 'q'},
      {.name = "no-color", .help = "no colours, as with NO_COLOR or TERM=dumb", .rank = FlagRank::kAdvanced},
      {.name = "cpu-level",
       .kind = FlagKind::kText,
       .value = "LEVEL",
       .help = "run the code compiled for this CPU level; 'cortado devices' shows which there are",
       .rank = FlagRank::kAdvanced,
       .choices = names_of(kIsaLevels)},
      {.name = "minloglevel",
       .kind = FlagKind::kInteger,
       .value = "N",
       .help = "hide log lines below this severity",
       .rank = FlagRank::kHidden,
       .least = 0,
       .most = 3},
      {.name = "log-dir",
       .kind = FlagKind::kText,
       .value = "FOLDER",
       .help = "write log files there, too",
       .rank = FlagRank::kHidden},
      {.name = "logtostderr", .help = "log to stderr only, not to files", .rank = FlagRank::kHidden},
      {.name = "stderrthreshold",
       .kind = FlagKind::kInteger,
       .value = "N",
       .help = "with --log-dir and --noalsologtostderr, the least severity logged to stderr",
       .rank = FlagRank::kHidden,
       .least = 0,
       .most = 3},
      {.name = "alsologtostderr", .help = "with --log-dir, log to stderr, too", .rank = FlagRank::kHidden}};
  return flags;
}

std::vector<Flag> flags_of(const Command& command) {
  std::vector<Flag> flags = command.flags;
  for (const Command& subcommand : command.subcommands)
    flags.insert(flags.end(), subcommand.flags.begin(), subcommand.flags.end());
  flags.insert(flags.end(), common_flags().begin(), common_flags().end());
  return flags;
}

}  // namespace cortado::tools

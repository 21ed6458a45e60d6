#include "tools/program/command.h"

#include "core/cpu/isa_level.h"
#include "core/text/text.h"

namespace cortado::tools {

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = {
      train_command(),   runs_command(),     report_command(),   snapshot_command(), test_command(),
      time_command(),    check_command(),    summary_command(),  plan_command(),     draw_command(),
      deploy_command(),  classify_command(), detect_command(),   infer_command(),    serve_command(),
      studio_command(),  quantize_command(), features_command(), new_command(),      tune_command(),
      convert_command(), upgrade_command(),  mean_command(),     data_command(),     devices_command(),
      layers_command(),  help_command(),
  };
  return commands;
}

const Command& command_named(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : all_commands()) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  const std::string guess = did_you_mean(name, names);
  throw usage_error("no command is called '" + name + "'", guess.empty() ? "the commands: " + list_text(names) : guess);
}

const std::vector<Flag>& common_flags() {
  static const std::vector<Flag> flags = {
      {.name = "help", .help = "this text", .letter = 'h'},
      {.name = "version", .help = "the program's version"},
      {.name = "quiet", .help = "only warnings and errors on stderr", .letter = 'q'},
      {.name = "no-color", .help = "no colours; NO_COLOR and TERM=dumb say the same"},
      {.name = "cpu-level",
       .kind = FlagKind::kText,
       .value = "LEVEL",
       .help = "runs what was compiled for this CPU level: v2, v3, v4 or amx ('cortado devices')",
       .choices = names_of(kIsaLevels)},
      {.name = "minloglevel",
       .kind = FlagKind::kInteger,
       .value = "N",
       .help = "hides log lines below this severity",
       .hidden = true,
       .least = 0,
       .most = 3},
      {.name = "log-dir",
       .kind = FlagKind::kText,
       .value = "FOLDER",
       .help = "writes log files there too",
       .hidden = true},
      {.name = "logtostderr", .help = "log lines on stderr alone, not in files", .hidden = true},
      {.name = "stderrthreshold",
       .kind = FlagKind::kInteger,
       .value = "N",
       .help = "of log files by --log-dir, with --noalsologtostderr: the least severity on stderr",
       .hidden = true,
       .least = 0,
       .most = 3},
      {.name = "alsologtostderr", .help = "log lines on stderr, too, where --log-dir writes files", .hidden = true}};
  return flags;
}

std::vector<Flag> flags_of(const Command& command) {
  std::vector<Flag> flags = command.flags;
  flags.insert(flags.end(), common_flags().begin(), common_flags().end());
  return flags;
}

}  // namespace cortado::tools

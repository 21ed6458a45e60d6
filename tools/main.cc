// The program: finds the command and its subcommand, parses its flags and runs it.
#include "core/text/text.h"
#include "tools/program/caffe_names.h"
#include "tools/program/help.h"
#include "tools/program/program.h"

namespace cortado::tools {

namespace {

std::vector<Flag> not_required(std::vector<Flag> flags) {
  for (Flag& flag : flags) flag.required = false;
  return flags;
}

/// Every flag of any command: enough to distinguish values from operands before the command is known.
std::vector<Flag> every_flag() {
  std::vector<Flag> out = common_flags();
  for (const Command* command : runnable_commands())
    out.insert(out.end(), command->flags.begin(), command->flags.end());
  return not_required(std::move(out));
}

/// Removes the subcommand's name from `words` and runs it.
int run_subcommand(const Command& command, std::vector<std::string> words) {
  const std::vector<Flag> flags = not_required(flags_of(command));
  const size_t at = first_operand(flags, words);
  if (at < words.size()) {
    const Command* found = find_subcommand(command, words[at]);
    if (found) words.erase(words.begin() + int64_t(at));
    if (!found && !command.otherwise.empty()) found = find_subcommand(command, command.otherwise);
    return run_command(found ? *found : subcommand_named(command, words[at]), words);
  }
  const Arguments arguments = parse_flags(flags, {}, words);
  if (arguments.on("help") || arguments.on("h"))
    return show_help(command_help(command, arguments.on("help") ? HelpLength::kFull : HelpLength::kShort));
  if (!command.otherwise.empty()) return run_command(*find_subcommand(command, command.otherwise), words);
  throw usage_error("cortado " + command.name + " needs a subcommand",
                    "use one of " + list_text(command.subcommand_names()));
}

int run_words(std::vector<std::string> words) {
  const std::vector<Flag> flags = every_flag();
  const size_t at = first_operand(flags, words);
  if (at < words.size()) {
    const Command& command = command_named(words[at]);
    words.erase(words.begin() + int64_t(at));
    return command.subcommands.empty() ? run_command(command, words) : run_subcommand(command, std::move(words));
  }
  const Arguments arguments = parse_flags(flags, {}, words);
  if (arguments.on("version")) return show_help(version_line() + "\n");
  if (words.empty() || arguments.on("help") || arguments.on("h")) return show_help(program_help());
  throw usage_error("a command is required: cortado COMMAND [flags]");
}

int run_program(const std::string& name, const std::vector<std::string>& words) {
  int code = 0;
  for (const std::vector<std::string>& line : translate_caffe_call(name, words))
    if (code == 0) code = run_words(line);
  return code;
}

}  // namespace

}  // namespace cortado::tools

int main(int argc, char** argv) { return cortado::tools::program_main(argc, argv, cortado::tools::run_program); }

// The program: finds the command, reads its flags and runs it.
#include "tools/program/caffe_names.h"
#include "tools/program/help.h"
#include "tools/program/program.h"

namespace cortado::tools {

namespace {

/// Every flag that any command knows, none of them required: enough to tell values from operands before the command is
/// known.
std::vector<Flag> every_flag() {
  std::vector<Flag> out = common_flags();
  for (const Command& command : all_commands()) out.insert(out.end(), command.flags.begin(), command.flags.end());
  for (Flag& flag : out) flag.required = false;
  return out;
}

int run_words(std::vector<std::string> words) {
  const std::vector<Flag> flags = every_flag();
  const size_t at = first_operand(flags, words);
  if (at < words.size()) {
    const Command& command = command_named(words[at]);
    words.erase(words.begin() + int64_t(at));
    return run_command(command, words);
  }
  const Arguments arguments = parse_flags(flags, {}, words);
  if (arguments.on("version")) return show_help(version_line() + "\n");
  if (words.empty() || arguments.on("help")) return show_help(program_help());
  throw usage_error("a command is missing: cortado COMMAND [flags]");
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

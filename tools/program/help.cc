// Help is made from the commands' tables, so it cannot list a flag that does not exist. Every command shows examples.

#include "tools/program/help.h"

#include <algorithm>
#include <iostream>

#include "core/text/text.h"
#include "tools/output/terminal.h"
#include "tools/program/command.h"

namespace cortado::tools {

namespace {

constexpr size_t kIndent = 30;

/// `text` and enough spaces, or where it is too long a new line.
std::string padded(const std::string& text, size_t width) {
  if (text.size() < width) return text + std::string(width - text.size(), ' ');
  return text + "\n" + std::string(width + 2, ' ');
}

/// Headings of groups in the order in which they first occur; the command's own flags first.
std::vector<std::string> groups_of(const std::vector<Flag>& flags) {
  std::vector<std::string> groups = {""};
  for (const Flag& flag : flags)
    if (std::ranges::find(groups, flag.group) == groups.end()) groups.push_back(flag.group);
  return groups;
}

std::string describe_flag(const Flag& flag) {
  const std::string letter = flag.letter || flag.name.size() == 1 ? "" : "    ";
  return "  " + padded(letter + spelling(flag), kIndent - 2) +
         wrapped(flag.description() + value_notes(flag), kIndent) + "\n";
}

std::string describe_flags(const std::vector<Flag>& flags, HelpLength length) {
  std::string out;
  for (const Flag& flag : flags)
    if (flag.rank == FlagRank::kCommon || (flag.rank == FlagRank::kAdvanced && length == HelpLength::kFull))
      out += describe_flag(flag);
  return out;
}

std::string describe_groups(const std::vector<Flag>& flags, HelpLength length) {
  std::string out;
  for (const std::string& group : groups_of(flags)) {
    std::vector<Flag> members;
    std::ranges::copy_if(flags, std::back_inserter(members), [&](const Flag& flag) { return flag.group == group; });
    const std::string text = describe_flags(members, length);
    if (!text.empty()) out += "\n" + (group.empty() ? std::string("Flags") : group + " flags") + ":\n" + text;
  }
  return out;
}

/// Lines that can be copied: a long one goes on after a backslash.
std::string describe_examples(const std::vector<Example>& examples) {
  std::string out;
  for (const Example& example : examples) {
    for (const std::string& line : split(wrapped(example.meaning, 0, 76), '\n')) out += "  # " + line + "\n";
    out += "  ";
    for (const char c : wrapped(example.line, 6, 78)) out += c == '\n' ? " \\\n" : std::string(1, c);
    out += "\n";
  }
  return out;
}

std::string describe_commands(const std::vector<const Command*>& commands, size_t width) {
  std::string out;
  for (const Command* command : commands)
    out += "  " + padded(command->last_word(), width) + wrapped(command->summary, width + 2) + "\n";
  return out;
}

std::string describe_subcommands(const Command& command) {
  if (command.subcommands.empty()) return "";
  std::vector<const Command*> list;
  for (const Command& subcommand : command.subcommands) list.push_back(&subcommand);
  return "\nSubcommands:\n" + describe_commands(list, 12);
}

std::string hint_of(const Command& command, HelpLength length) {
  if (!command.subcommands.empty())
    return "\n'cortado " + command.name + " SUBCOMMAND --help' lists a subcommand's flags, with examples.\n";
  if (length == HelpLength::kShort) return "\n'cortado " + command.name + " --help' lists all flags, with examples.\n";
  return "";
}

/// The command that the operands name: "train", or "convert idx".
const Command& named_by(const std::vector<std::string>& words) {
  const Command& command = command_named(words[0]);
  if (words.size() == 1) return command;
  if (command.subcommands.empty()) throw usage_error("cortado " + command.name + " has no subcommands");
  return subcommand_named(command, words[1]);
}

std::string page_of(const Arguments& arguments) {
  const bool man = arguments.on("man");
  if (arguments.has("completion")) return completion_script(arguments.text("completion"));
  if (arguments.on("markdown")) return commands_page();
  if (arguments.on("json")) return commands_json();
  if (arguments.operands().empty()) return man ? program_man_page() : program_help();
  const Command& command = named_by(arguments.operands());
  return man ? command_man_page(command) : command_help(command, HelpLength::kFull);
}

int run_help(const Arguments& arguments) {
  std::cout << page_of(arguments);
  return 0;
}

}  // namespace

std::string version_line() { return std::string("cortado ") + CORTADO_VERSION; }

std::string spelling(const Flag& flag) {
  if (flag.name.size() == 1) return "-" + flag.name;
  const std::string value = flag.implied.empty() ? "=" + flag.value : "[=" + flag.value + "]";
  return (flag.letter ? std::string("-") + flag.letter + ", " : "") + "--" + flag.name +
         (flag.takes_value() ? value : "");
}

std::string value_notes(const Flag& flag) {
  std::string out;
  if (!flag.choices.empty()) out += " [values: " + list_text(flag.choices) + "]";
  if (!flag.fallback.empty()) out += " [default: " + flag.fallback + "]";
  return out;
}

std::string synopsis(const Command& command) {
  std::string out = command.name;
  if (!command.subcommands.empty()) return out + (command.otherwise.empty() ? " SUBCOMMAND" : " [SUBCOMMAND]") + " ...";
  for (const Flag& flag : command.flags)
    if (flag.operand && !flag.hidden())
      out += flag.required || !flag.unless.empty() ? " " + flag.value : " [" + flag.value + "]";
  if (!command.operands.name.empty())
    out += command.operands.least > 0 ? " " + command.operands.name : " [" + command.operands.name + "]";
  for (const Flag& flag : command.flags)
    if (flag.required && !flag.operand)
      out += flag.letter ? std::string(" -") + flag.letter + " " + flag.value : " --" + flag.name + "=" + flag.value;
  return out + " [flags]";
}

std::string usage_line(const Command& command) { return wrapped("usage: cortado " + synopsis(command), 6) + "\n"; }

std::string program_help() {
  std::string out = version_line() + ": train and deploy Caffe networks\n\nusage: cortado COMMAND [flags]\n";
  for (const CommandGroup& group : command_groups()) {
    std::vector<const Command*> list;
    for (const Command& command : group.commands) list.push_back(&command);
    out += "\n" + group.title + ":\n" + describe_commands(list, 12);
  }
  return out + "\nExamples:\n" +
         describe_examples({{"cortado check models/lenet/solver.prototxt", "find errors without training"},
                            {"cortado train models/lenet/solver.prototxt --run=runs/first",
                             "train, with log, snapshots and a report in one folder"},
                            {"cortado classify runs/first cat.jpg", "classify an image with what was trained"}}) +
         "\n'cortado COMMAND -h' lists a command's usual flags, --help all of them.\n";
}

std::string command_help(const Command& command, HelpLength length) {
  const bool full = length == HelpLength::kFull;
  std::string out = wrapped("cortado " + command.name + ": " + command.summary, 2) + "\n\n" + usage_line(command);
  if (!command.operands.name.empty() && !command.operands.help.empty())
    out += "  " + padded(command.operands.name, kIndent - 2) + wrapped(command.operands.help, kIndent) + "\n";
  if (full && !command.about.empty()) out += "\n" + wrapped(command.about, 0) + "\n";
  out += describe_subcommands(command) + describe_groups(command.flags, length);
  if (full && command.subcommands.empty())
    out += "\nFlags of every command:\n" + describe_flags(common_flags(), length);
  if (full && !command.examples.empty()) out += "\nExamples:\n" + describe_examples(command.examples);
  return out + hint_of(command, length);
}

Command help_command() {
  return {.name = "help",
          .summary = "Describe the commands, or one of them",
          .flags = {{.name = "man", .help = "as a manual page, for man"},
                    {.name = "markdown", .help = "as a page of the documentation"},
                    {.name = "json", .help = "JSON on stdout"},
                    {.name = "completion",
                     .kind = FlagKind::kText,
                     .value = "SHELL",
                     .help = "print a script that completes commands, flags and values",
                     .choices = {"bash", "zsh"}}},
          .operands = {"COMMAND [SUBCOMMAND]", "the command to describe", 0, 2},
          .examples = {{"cortado help train", "the flags of train, with examples"},
                       {"cortado help convert idx", "those of a subcommand"},
                       {"source <(cortado help --completion=bash)", "complete cortado's commands in this shell"},
                       {"cortado help --man train | man -l -", "the same as a manual page"}},
          .run = run_help};
}

}  // namespace cortado::tools

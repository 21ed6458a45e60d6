// Help is made from the commands' tables, so it cannot list a flag that does not exist. Every command shows examples.
#include "tools/program/help.h"

#include <algorithm>
#include <iostream>

#include "tools/output/terminal.h"
#include "tools/program/completion.h"
#include "tools/program/man_page.h"

namespace cortado::tools {

namespace {

std::string padded(const std::string& text, size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 1, ' ');
}

std::string spelling(const Flag& flag) {
  std::string out = flag.letter ? std::string("-") + flag.letter + ", " : "    ";
  return out + "--" + flag.name + (flag.takes_value() ? "=" + flag.value : "");
}

std::string describe_flags(const std::vector<Flag>& flags) {
  constexpr size_t kIndent = 30;
  std::string out;
  for (const Flag& flag : flags) {
    if (flag.hidden) continue;
    std::string help = help_with_kinds(flag);
    if (!flag.fallback.empty()) help += " (" + flag.fallback + ")";
    out += "  " + padded(spelling(flag), kIndent - 2) + wrapped(help, kIndent) + "\n";
  }
  return out;
}

std::string describe_examples(const std::vector<Example>& examples) {
  std::string out;
  for (const Example& example : examples) out += "  " + example.line + "\n      " + example.meaning + "\n";
  return out;
}

std::string page_of(const Arguments& arguments) {
  const bool man = arguments.on("man");
  if (arguments.has("completion")) return completion_script(arguments.text("completion"));
  if (arguments.operands().empty()) return man ? program_man_page() : program_help();
  const Command& command = command_named(arguments.operands()[0]);
  return man ? command_man_page(command) : command_help(command);
}

int run_help(const Arguments& arguments) {
  std::cout << page_of(arguments);
  return 0;
}

}  // namespace

std::string version_line() { return std::string("cortado ") + CORTADO_VERSION; }

std::string usage_line(const Command& command) {
  std::string out = "usage: cortado " + command.name;
  for (const Flag& flag : command.flags)
    if (flag.required) out += " --" + flag.name + "=" + flag.value;
  if (!command.operands.name.empty())
    out += command.operands.least > 0 ? " " + command.operands.name : " [" + command.operands.name + "]";
  return out + " [flags]\n";
}

std::string program_help() {
  std::string out = version_line() +
                    ": trains and runs nets written in Caffe's prototxt language\n\nusage: cortado COMMAND [flags]\n\n";
  for (const Command& command : all_commands()) out += "  " + padded(command.name, 10) + command.summary + "\n";
  return out + "\nexamples:\n" +
         describe_examples({{"cortado check models/lenet/solver.prototxt", "finds every mistake without training"},
                            {"cortado train --solver=models/lenet/solver.prototxt", "trains, logs and snapshots"},
                            {"cortado classify --model=deploy.prototxt --weights=net.caffemodel cat.jpg",
                             "says what is in an image"}}) +
         "\n'cortado COMMAND --help' lists a command's flags, with examples.\n";
}

std::string command_help(const Command& command) {
  std::string out = "cortado " + command.name + ": " + command.summary + "\n\n" + usage_line(command);
  if (!command.operands.name.empty() && !command.operands.help.empty())
    out += "  " + padded(command.operands.name, 28) + wrapped(command.operands.help, 30) + "\n";
  if (!command.about.empty()) out += "\n" + wrapped(command.about, 0) + "\n";
  if (!command.flags.empty()) out += "\nflags:\n" + describe_flags(command.flags);
  out += "\nflags of every command:\n" + describe_flags(common_flags());
  return out + "\nexamples:\n" + describe_examples(command.examples);
}

Command help_command() {
  return {.name = "help",
          .summary = "describes the commands, or one of them",
          .flags = {{.name = "man", .help = "as a manual page, for man"},
                    {.name = "completion",
                     .kind = FlagKind::kText,
                     .value = "SHELL",
                     .help = "what a shell reads to complete commands, flags and their values",
                     .choices = {"bash", "zsh"}}},
          .operands = {"COMMAND", "the command to describe", 0, 1},
          .examples = {{"cortado help train", "the flags of train, with examples"},
                       {"source <(cortado help --completion=bash)", "completes cortado's words in this shell"},
                       {"cortado help --man train | man -l -", "the same as a manual page"}},
          .run = run_help};
}

}  // namespace cortado::tools

// Help is made from the commands' tables, so it cannot list a flag that does not exist. Every command shows examples.

#include "tools/program/help.h"

#include <algorithm>
#include <iostream>

#include "core/text/text.h"
#include "tools/output/terminal.h"
#include "tools/program/command.h"

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

namespace {

/// Text as roff shows it: a hyphen is a minus that can be copied, and no line begins with a control character.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::toupper(c)); });
  return text;
}

std::string head(const std::string& page, const std::string& summary) {
  return ".TH " + upper(page) + " 1 \"\" \"cortado " CORTADO_VERSION "\" \"Cortado\"\n.SH NAME\n" + plain(page) +
         " \\- " + plain(summary) + "\n";
}

std::string bold(const std::string& text) { return "\\fB" + plain(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + plain(text) + "\\fR"; }

std::string synopsis(const Command& command) {
  std::string out = ".SH SYNOPSIS\n" + bold("cortado " + command.name);
  for (const Flag& flag : command.flags)
    if (flag.required) out += " " + bold("--" + flag.name + "=") + italic(flag.value);
  if (!command.operands.name.empty())
    out +=
        command.operands.least > 0 ? " " + italic(command.operands.name) : " [" + italic(command.operands.name) + "]";
  return out + " [" + italic("flags") + "]\n";
}

std::string flag_entry(const Flag& flag) {
  std::string out = ".TP\n";
  if (flag.letter) out += bold(std::string("-") + flag.letter) + ", ";
  out += bold("--" + flag.name + (flag.takes_value() ? "=" : ""));
  if (flag.takes_value()) out += italic(flag.value);
  out += "\n" + plain(help_with_kinds(flag));
  if (!flag.fallback.empty()) out += " (" + plain(flag.fallback) + ")";
  if (!flag.choices.empty()) {
    out += "; one of";
    for (const std::string& choice : flag.choices) out += " " + bold(choice);
  }
  return out + ".\n";
}

std::string flag_section(const std::string& title, const std::vector<Flag>& flags) {
  std::string out;
  for (const Flag& flag : flags)
    if (!flag.hidden) out += flag_entry(flag);
  return out.empty() ? out : ".SH " + title + "\n" + out;
}

std::string examples(const std::vector<Example>& list) {
  std::string out = ".SH EXAMPLES\n";
  for (const Example& example : list) out += ".TP\n" + bold(example.line) + "\n" + plain(example.meaning) + ".\n";
  return out;
}

constexpr const char* kExitCodes = R"(.SH EXIT STATUS
0 success, 1 a mistake of the program's own, 2 a command line, 3 a net or solver, 4 data, 5 input or output, 6 a device,
7 a training that diverged, 8 a snapshot or weights, 130, 138 and 143 stopped by SIGINT, SIGUSR1 or SIGTERM after a
snapshot.
)";

}  // namespace

std::string program_man_page() {
  std::string out = head("cortado", "trains and runs nets written in Caffe's prototxt language") + ".SH SYNOPSIS\n" +
                    bold("cortado") + " " + italic("COMMAND") + " [" + italic("flags") + "]\n.SH COMMANDS\n";
  for (const Command& command : all_commands())
    out += ".TP\n" + bold("cortado-" + command.name) + "(1)\n" + plain(command.summary) + ".\n";
  return out + flag_section("FLAGS OF EVERY COMMAND", common_flags()) + kExitCodes;
}

std::string command_man_page(const Command& command) {
  std::string out = head("cortado-" + command.name, command.summary) + synopsis(command);
  if (!command.about.empty() || !command.operands.help.empty()) out += ".SH DESCRIPTION\n";
  if (!command.operands.help.empty())
    out += ".TP\n" + italic(command.operands.name) + "\n" + plain(command.operands.help) + ".\n";
  if (!command.about.empty()) out += ".PP\n" + plain(command.about) + "\n";
  return out + flag_section("FLAGS", command.flags) + flag_section("FLAGS OF EVERY COMMAND", common_flags()) +
         examples(command.examples) + kExitCodes + ".SH SEE ALSO\n" + bold("cortado") + "(1)\n";
}

namespace {

std::string command_words() {
  std::vector<std::string> names;
  for (const Command& command : all_commands()) names.push_back(command.name);
  return list_text(names, " ");
}

std::string flag_words(const Command& command) {
  std::vector<std::string> words;
  for (const Flag& flag : flags_of(command))
    if (!flag.hidden) words.push_back("--" + flag.name + (flag.takes_value() ? "=" : ""));
  return list_text(words, " ");
}

std::string reply(const std::string& words) { return "COMPREPLY=($(compgen -W '" + words + "' -- \"$word\"))"; }

std::string value_cases() {
  std::string out;
  for (const Command& command : all_commands())
    for (const Flag& flag : flags_of(command))
      if (!flag.hidden && !flag.choices.empty())
        out += "      '" + command.name + " --" + flag.name + "') " + reply(list_text(flag.choices, " ")) + " ;;\n";
  return out;
}

std::string flag_cases() {
  std::string out;
  for (const Command& command : all_commands())
    out += "        " + command.name + ") " + reply(flag_words(command)) + " ;;\n";
  return out;
}

/// bash takes --flag=value for three words.
std::string script() {
  return R"(_cortado() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]-} flag=
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    )" + reply(command_words()) +
         R"(
    return
  fi
  if [ "$word" = = ]; then
    flag=$before word=
  elif [ "$before" = = ]; then
    flag=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if [ -n "$flag" ]; then
    case "$command $flag" in
)" + value_cases() +
         R"(      *) COMPREPLY=($(compgen -f -- "$word")) ;;
    esac
    return
  fi
  case $word in
    -*)
      case $command in
)" + flag_cases() +
         R"(      esac
      if [[ ${COMPREPLY-} == *= ]]; then compopt -o nospace 2>/dev/null; fi
      ;;
    *) if [ "$command" = help ]; then )" +
         reply(command_words()) + R"(; else COMPREPLY=($(compgen -f -- "$word")); fi ;;
  esac
}
complete -o filenames -F _cortado cortado
)";
}

}  // namespace

std::string completion_script(const std::string& shell) {
  const bool is_zsh = shell == "zsh";
  const std::string first = is_zsh ? "#compdef cortado\n" : "",  // of a file that zsh loads by itself
      how = is_zsh ? "autoload -Uz bashcompinit && bashcompinit\n" : "";
  return first + "# Completes the words of cortado. " + shell + ": source <(cortado help --completion=" + shell +
         ")\n" + how + script();
}

}  // namespace cortado::tools

#include "tools/program/man_page.h"

#include <algorithm>

namespace cortado::tools {

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

}  // namespace cortado::tools

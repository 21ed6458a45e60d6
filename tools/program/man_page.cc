// Manual pages in roff's man macros.
#include <algorithm>
#include <cctype>

#include "tools/program/help.h"

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

std::string flag_entry(const Flag& flag) {
  return ".TP\n" + bold(spelling(flag)) + "\n" + plain(flag.description() + value_notes(flag)) + ".\n";
}

std::string flag_section(const std::string& title, const std::vector<Flag>& flags) {
  std::string out;
  for (const Flag& flag : flags)
    if (!flag.hidden()) out += flag_entry(flag);
  return out.empty() ? out : title + "\n" + out;
}

std::string example_section(const std::vector<Example>& list) {
  std::string out;
  for (const Example& example : list) out += ".TP\n" + bold(example.line) + "\n" + plain(example.meaning) + ".\n";
  return out.empty() ? out : ".SH EXAMPLES\n" + out;
}

constexpr const char* kExitCodes = R"(.SH EXIT STATUS
0 success, 1 an internal error, 2 usage, 3 a net or solver, 4 data, 5 input or output, 6 a device, 7 the training
diverged, 8 a snapshot or weights, 130, 138 and 143 stopped by SIGINT, SIGUSR1 or SIGTERM after a snapshot.
)";

std::string subcommand_sections(const Command& command) {
  std::string out;
  for (const Command& subcommand : command.subcommands) {
    out += ".SH " + upper("cortado " + subcommand.name) + "\n" + plain(subcommand.summary) + ".\n.PP\n" +
           bold("cortado " + synopsis(subcommand)) + "\n" + flag_section(".PP", subcommand.flags);
    for (const Example& example : subcommand.examples)
      out += ".TP\n" + bold(example.line) + "\n" + plain(example.meaning) + ".\n";
  }
  return out;
}

}  // namespace

std::string program_man_page() {
  std::string out = head("cortado", "train and deploy Caffe networks") + ".SH SYNOPSIS\n" + bold("cortado") + " " +
                    italic("COMMAND") + " [" + italic("flags") + "]\n";
  for (const CommandGroup& group : command_groups()) {
    out += ".SH " + upper(group.title) + "\n";
    for (const Command& command : group.commands)
      out += ".TP\n" + bold("cortado-" + command.name) + "(1)\n" + plain(command.summary) + ".\n";
  }
  return out + flag_section(".SH FLAGS OF EVERY COMMAND", common_flags()) + kExitCodes;
}

std::string command_man_page(const Command& command) {
  std::string page = "cortado-" + command.name;
  std::replace(page.begin(), page.end(), ' ', '-');
  std::string out = head(page, command.summary) + ".SH SYNOPSIS\n" + bold("cortado " + synopsis(command)) + "\n";
  if (!command.about.empty() || !command.operands.help.empty()) out += ".SH DESCRIPTION\n";
  if (!command.operands.help.empty())
    out += ".TP\n" + italic(command.operands.name) + "\n" + plain(command.operands.help) + ".\n";
  if (!command.about.empty()) out += ".PP\n" + plain(command.about) + "\n";
  return out + flag_section(".SH FLAGS", command.flags) + subcommand_sections(command) +
         flag_section(".SH FLAGS OF EVERY COMMAND", common_flags()) + example_section(command.examples) + kExitCodes +
         ".SH SEE ALSO\n" + bold("cortado") + "(1)\n";
}

}  // namespace cortado::tools

// All commands as a page of the documentation and as JSON.
#include <nlohmann/json.hpp>

#include "core/text/json.h"
#include "tools/options/run_options.h"
#include "tools/program/help.h"

namespace cortado::tools {

namespace {

using Json = nlohmann::ordered_json;

/// Of a cell of a Markdown table.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : c == '<' ? "&lt;" : c == '*' ? "\\*" : std::string(1, c);
  return out;
}

std::string flag_table(const std::vector<Flag>& flags) {
  std::string rows;
  for (const Flag& flag : flags)
    if (!flag.hidden()) rows += "| `" + spelling(flag) + "` | " + cell(flag.description() + value_notes(flag)) + " |\n";
  return rows.empty() ? "" : "\n| flag | meaning |\n|---|---|\n" + rows;
}

std::string example_block(const std::vector<Example>& examples) {
  if (examples.empty()) return "";
  std::string out = "\n```bash\n";
  for (const Example& example : examples) out += "# " + example.meaning + "\n" + example.line + "\n";
  return out + "```\n";
}

std::string section(const Command& command, const std::string& heading) {
  std::string out = "\n" + heading + " cortado " + command.name + "\n\n" + command.summary + ".\n";
  if (!command.about.empty()) out += "\n" + command.about + "\n";
  out += "\n    cortado " + synopsis(command) + "\n";
  if (!command.operands.help.empty()) out += "\n`" + command.operands.name + "`: " + command.operands.help + ".\n";
  std::vector<Flag> own, shared;
  bool has_device = false;
  for (const Flag& flag : command.flags) {
    has_device = has_device || flag.group == "Device";
    if (flag.group != "Device") own.push_back(flag);
  }
  out += flag_table(own);
  if (has_device) out += "\nAnd the [device flags](#device-flags).\n";
  out += example_block(command.examples);
  for (const Command& subcommand : command.subcommands) out += section(subcommand, heading + "#");
  return out;
}

Json flag_json(const Flag& flag) {
  const char* kinds[] = {"switch", "text", "integer", "number"};
  Json json = {{"name", flag.name}, {"kind", kinds[int(flag.kind)]}, {"help", flag.description()}};
  if (flag.takes_value()) json["value"] = flag.value;
  if (flag.letter) json["letter"] = std::string(1, flag.letter);
  if (!flag.fallback.empty()) json["default"] = flag.fallback;
  if (!flag.choices.empty()) json["values"] = flag.choices;
  if (!flag.former.empty()) json["deprecated_names"] = flag.former;
  if (flag.required) json["required"] = true;
  if (flag.operand) json["operand"] = true;
  if (!flag.group.empty()) json["group"] = flag.group;
  return json;
}

Json flags_json(const std::vector<Flag>& flags) {
  Json list = Json::array();
  for (const Flag& flag : flags)
    if (!flag.hidden()) list.push_back(flag_json(flag));
  return list;
}

Json command_json(const Command& command, const std::string& group) {
  Json json = {{"name", command.name},
               {"group", group},
               {"summary", command.summary},
               {"usage", "cortado " + synopsis(command)},
               {"flags", flags_json(command.flags)},
               {"examples", Json::array()},
               {"subcommands", Json::array()}};
  for (const Example& example : command.examples)
    json["examples"].push_back({{"line", example.line}, {"meaning", example.meaning}});
  for (const Command& subcommand : command.subcommands) json["subcommands"].push_back(command_json(subcommand, group));
  return json;
}

}  // namespace

std::string commands_page() {
  std::string out =
      "<!-- Made by `cortado help --markdown`. -->\n\n# Commands\n\n`cortado COMMAND -h` shows a command's usual "
      "flags, "
      "`--help` all of them with examples. Flags may come before or after operands, as `--flag=value`, `--flag value` "
      "or Caffe's `-flag value`. Exit codes are [here](exit-codes.md).\n";
  for (const CommandGroup& group : command_groups()) {
    out += "\n## " + group.title + "\n";
    for (const Command& command : group.commands) out += section(command, "###");
  }
  return out + "\n## Device flags\n\nOf every command that runs a net.\n" + flag_table(device_flags()) +
         "\n## Flags of every command\n" + flag_table(common_flags());
}

std::string commands_json() {
  Json json = {{"version", version_line()}, {"flags", flags_json(common_flags())}, {"commands", Json::array()}};
  for (const CommandGroup& group : command_groups())
    for (const Command& command : group.commands) json["commands"].push_back(command_json(command, group.title));
  return dumped_json(json, 2) + "\n";
}

}  // namespace cortado::tools

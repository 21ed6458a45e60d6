#include "tools/train/resume_command.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace cortado::tools {

std::string quoted_for_shell(const std::string& word) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) || std::strchr("_-+./:,=@%", c) || c > 127; };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string resume_command(const Arguments& arguments, const std::string& state) {
  std::string out = "cortado train --solver=" + quoted_for_shell(arguments.text("solver"));
  for (const auto& [name, values] : arguments.given())
    if (name != "solver" && name != "snapshot" && name != "weights")
      for (const std::string& value : values) {
        const bool is_switch = arguments.kind(name) == FlagKind::kSwitch;
        out += (is_switch && value == "false" ? " --no-" : " --") + name +
               (is_switch ? "" : "=" + quoted_for_shell(value));
      }
  return out + " --snapshot=" + quoted_for_shell(state);
}

}  // namespace cortado::tools

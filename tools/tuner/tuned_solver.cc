#include "tools/tuner/tuned_solver.h"

#include "tools/output/terminal.h"

namespace cortado::tools {

std::string with_base_lr(std::string_view text, const Positions& positions, double rate, const std::string& comments) {
  const std::string value = number_text("%.3g", rate);
  std::string out(text);
  if (!positions.known("base_lr")) {
    if (!out.empty() && out.back() != '\n') out += '\n';
    return comments + out + "base_lr: " + value + "\n";
  }
  const Place place = positions.place("base_lr");
  size_t at = 0;
  for (int line = 1; line < place.line && at != std::string::npos; ++line) {
    at = out.find('\n', at);
    if (at != std::string::npos) ++at;
  }
  if (at == std::string::npos) return comments + out;
  at += size_t(place.column - 1);
  const size_t end = std::min(out.find_first_of(" \t\r\n#,;", at), out.size());
  return comments + out.replace(at, end - at, value);
}

}  // namespace cortado::tools

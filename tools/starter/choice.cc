#include "tools/starter/choice.h"

#include <sstream>

namespace cortado::tools {

std::string comments_of(const Choices& choices) {
  constexpr size_t kWidest = 120;
  std::string out;
  for (const Choice& choice : choices) {
    std::string line = "#";
    std::istringstream words(choice.what + " " + choice.value + ": " + choice.why);
    for (std::string word; words >> word;) {
      if (line.size() + 1 + word.size() > kWidest) {
        out += line + "\n";
        line = "#  ";
      }
      line += " " + word;
    }
    out += line + "\n";
  }
  return out;
}

}  // namespace cortado::tools

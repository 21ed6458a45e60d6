#include "onnx/words.h"

#include <algorithm>

#include "core/error.h"

namespace cortado {

Words::Words(const std::vector<std::string>& words, const std::vector<std::string>& names) {
  for (const std::string& word : words) {
    if (!word.starts_with("--")) {
      operands_.push_back(word);
      continue;
    }
    const size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(2, equals - 2);
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw Error(ExitCode::kUsage, "unknown flag --" + name);
    given_[name].push_back(equals < word.size() ? word.substr(equals + 1) : "");
  }
}

std::string Words::text(const std::string& name) const { return has(name) ? given_.at(name).back() : ""; }

std::vector<std::string> Words::texts(const std::string& name) const {
  return has(name) ? given_.at(name) : std::vector<std::string>{};
}

}  // namespace cortado

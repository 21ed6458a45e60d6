#include "proto/text/text_mistake.h"

#include <algorithm>

namespace cortado {

std::vector<Mistake> first_of(const TextMistakes& mistakes, const std::string& rest) {
  std::vector<Mistake> list;
  for (size_t i = 0; i < std::min(kMaxMistakesTold, mistakes.size()); ++i) list.push_back(mistakes[i].mistake);
  if (mistakes.size() > kMaxMistakesTold) list.push_back({list.back().place, rest, {}, {}});
  return list;
}

}  // namespace cortado

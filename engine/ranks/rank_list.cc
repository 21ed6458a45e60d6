#include "ranks/rank_list.h"

namespace cortado::ranks {

std::string named(const std::vector<int>& ranks) {
  constexpr size_t kMost = 8;
  if (ranks.empty()) return "no rank";
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size() && i < kMost; ++i) text += (i ? ", " : "") + std::to_string(ranks[i]);
  if (ranks.size() > kMost) text += " and " + std::to_string(ranks.size() - kMost) + " more";
  return text;
}

}  // namespace cortado::ranks

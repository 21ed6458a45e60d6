#include "data/convert/stratified.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/rng.h"

namespace cortado::data {

namespace {
constexpr uint64_t kSplitKey = 0x73706C69745F7E21ull;  // keeps these draws apart from those of the order
}

std::vector<bool> choose_tests(const std::vector<int32_t>& labels, double share, uint64_t seed) {
  std::map<int32_t, std::vector<size_t>> of_label;
  for (size_t i = 0; i < labels.size(); ++i) of_label[labels[i]].push_back(i);
  std::vector<bool> tests(labels.size());
  for (auto& [label, places] : of_label) {
    const size_t n = places.size();
    if (n < 2) continue;
    const size_t wanted = std::clamp(size_t(std::llround(double(n) * share)), size_t(1), n - 1);
    RandomStream random(mix_key(mix_key(seed, kSplitKey), uint64_t(uint32_t(label))));
    for (size_t k = 0; k < wanted; ++k) {
      std::swap(places[k], places[k + random.below(n - k)]);
      tests[places[k]] = true;
    }
  }
  return tests;
}

}  // namespace cortado::data

#pragma once

#include <cstdint>
#include <vector>

namespace cortado::data {

/// Which of the samples with these labels go to the test set: of each class that share, rounded, at least one where
/// there are two, never all. A function of (seed, label, order of the samples).
std::vector<bool> choose_tests(const std::vector<int32_t>& labels, double share, uint64_t seed);

}  // namespace cortado::data

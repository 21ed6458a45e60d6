#pragma once

// The likeliest classes by a net's output.

#include <cstddef>
#include <vector>

namespace cortado::tools {

struct Guess {
  int label;
  double probability;
};

/// Whether the values are probabilities: none below 0, 1 in all.
bool is_distribution(const float* values, size_t count);

std::vector<double> softmax(const float* values, size_t count);

/// The `top` likeliest classes, the likeliest first; of equal ones the first in order.
std::vector<Guess> best(const std::vector<double>& probabilities, size_t top);

}  // namespace cortado::tools

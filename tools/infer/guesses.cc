#include "tools/infer/guesses.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace cortado::tools {

bool is_distribution(const float* values, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!(values[i] >= 0)) return false;
    sum += double(values[i]);
  }
  return std::fabs(sum - 1) < 1e-3;
}

std::vector<double> softmax(const float* values, size_t count) {
  const double most = double(*std::max_element(values, values + count));
  std::vector<double> out(count);
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += out[i] = std::exp(double(values[i]) - most);
  for (double& value : out) value /= sum;
  return out;
}

std::vector<Guess> best(const std::vector<double>& probabilities, size_t top) {
  std::vector<Guess> guesses;
  for (size_t i = 0; i < probabilities.size(); ++i) guesses.push_back({int(i), probabilities[i]});
  top = std::min(top, guesses.size());
  std::partial_sort(guesses.begin(), guesses.begin() + int64_t(top), guesses.end(), [](const Guess& a, const Guess& b) {
    return a.probability != b.probability ? a.probability > b.probability : a.label < b.label;
  });
  guesses.resize(top);
  return guesses;
}

}  // namespace cortado::tools

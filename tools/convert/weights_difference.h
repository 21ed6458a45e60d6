#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cortado::tools {

/// How far a blob of weights has moved.
struct BlobChange {
  std::string name;                          ///< "conv1/0"
  double norm = 0, change = 0, largest = 0;  ///< L2 norms of the first one and of the difference; its largest element
};

struct WeightsDifference {
  std::vector<BlobChange> changed;
  std::vector<std::string> elsewhere;  ///< in one alone, or of another size
  size_t equal = 0;
};

/// Of two files of weights, or of two states' weights. Throws what reading them throws.
WeightsDifference weights_difference(const std::string& a, const std::string& b);

}  // namespace cortado::tools

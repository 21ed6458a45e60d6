#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cortado::tools {

/// The change of a blob of weights.
struct BlobChange {
  std::string name;  ///< "conv1/0"
  double norm = 0, change = 0,
         largest = 0;  ///< L2 norms of the first blob and of the difference; the difference's largest magnitude
};

struct WeightsDifference {
  std::vector<BlobChange> changed;
  std::vector<std::string> elsewhere;  ///< missing in one file, or of different size
  size_t equal = 0;
};

/// Compares two files of weights, or the weights of two solver states. Throws as reading them does.
WeightsDifference weights_difference(const std::string& a, const std::string& b);

}  // namespace cortado::tools

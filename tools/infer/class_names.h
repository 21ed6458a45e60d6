#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "tools/options/like_net.h"

namespace cortado::tools {

/// Names for the `classes` of a net. `path` says where they are: throws as data::read_labels() does, and Error(kData)
/// where it holds fewer. "": of a file beside a dataset that the net reads, DATASET.labels.txt or labels.txt in its
/// folder, if it has one name for each class; else there are none.
std::vector<std::string> class_names(const std::string& path, const graph::Graph& graph, int64_t classes);

/// The same for a deploy net: of a file beside a dataset of the net that images are prepared like, or of labels.txt
/// beside the deploy net itself. Which one is logged.
std::vector<std::string> class_names(const std::string& path, const std::optional<LikeNet>& like,
                                     const std::string& model, int64_t classes);

// The likeliest classes by a net's output.

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

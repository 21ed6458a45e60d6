#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "tools/options/flags.h"
#include "tools/options/like_net.h"

namespace cortado::tools {

/// Names of the `classes` of a net. Reads the file `path`: throws as data::read_labels() does, and Error(kData) for too
/// few names. If `path` is "", reads DATASET.labels.txt or labels.txt next to a dataset of the net, if it has one name
/// for each class; returns no names without such a file.
std::vector<std::string> class_names(const std::string& path, const graph::Graph& graph, int64_t classes);

/// The same for a net for inference: of --labels, else of the run that --model or --weights belongs to, of a dataset of
/// the net in `like`, or of labels.txt next to --model. Logs the file, or that there is none.
std::vector<std::string> class_names(const Arguments& arguments, const std::optional<LikeNet>& like, int64_t classes);

/// Logs that classes are shown by their numbers.
void note_no_names();

// The most likely classes by a net's output.

struct Guess {
  int label;
  double probability;
};

/// Whether the values are probabilities: at least 0, with a sum of 1.
bool is_distribution(const float* values, size_t count);

std::vector<double> softmax(const float* values, size_t count);

/// The `top` most likely classes, the most likely first, equal ones in order.
std::vector<Guess> best(const std::vector<double>& probabilities, size_t top);

}  // namespace cortado::tools

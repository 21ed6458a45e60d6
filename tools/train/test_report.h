#pragma once

// The results of `cortado test`, as tables and as JSON.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "solvers/scores.h"
#include "tools/train/confusion.h"

namespace cortado::tools {

struct TestReport {
  int64_t batches = 0, samples = 0;  ///< samples: 0 if the net reads no data
  ScoreSums scores;
  std::vector<Classification> classifications = {};
  std::vector<std::vector<std::string>> names = {};  ///< class names of each classification; empty: unknown
};

/// The elements of one output among the scores.
struct Elements {
  size_t first, count;
};
std::vector<Elements> outputs_of(const std::vector<Score>& scores);

/// Tables no wider than `columns`: the outputs, and for the last classification the classes and the confusion matrix.
/// Of many classes, the least accurate ones and the most frequent confusions.
std::string tables_of(TestReport& report, size_t columns);

/// All results (docs/command-line.md).
nlohmann::ordered_json json_of(TestReport& report);

}  // namespace cortado::tools

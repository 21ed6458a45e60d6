#pragma once

// The results of `cortado test`, as tables and as JSON.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "solvers/scores.h"
#include "tools/train/confusion.h"

namespace cortado::tools {

struct TestReport {
  int64_t batches = 0, samples = 0;  ///< samples: 0 where the net reads no data
  ScoreSums scores;
  std::vector<Classification> classifications = {};
  std::vector<std::vector<std::string>> names = {};  ///< of each classification's classes; empty: not known
};

/// One output among the scores: as many as it has elements.
struct Elements {
  size_t first, count;
};
std::vector<Elements> outputs_of(const std::vector<Score>& scores);

/// Tables no wider than `columns`: the outputs, and of the last classification the classes and which were taken for
/// which. Of many classes the least accurate and the most frequent mistakes.
std::string tables_of(TestReport& report, size_t columns);

/// Everything (docs/command-line.md).
nlohmann::ordered_json json_of(TestReport& report);

}  // namespace cortado::tools

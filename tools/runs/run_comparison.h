#pragma once

// The differences between two runs.

#include <optional>
#include <string>
#include <vector>

namespace cortado::runs {

struct FileDifference {
  std::string name;                ///< "solver.prototxt"
  std::vector<std::string> lines;  ///< "- ..." is only in the first, "+ ..." only in the second
};

struct FactDifference {
  std::string name, a, b;  ///< "seed", "cpu", "data data/train_lmdb"
};

struct ScoreDifference {
  std::string name;
  std::optional<double> a, b;  ///< the best values; none if the run was not tested
};

struct RunComparison {
  std::vector<FileDifference> files;
  std::vector<FactDifference> facts;
  std::vector<ScoreDifference> scores;  ///< all scores, equal or not
};

/// Throws as reading the runs does.
RunComparison compare_runs(const std::string& a, const std::string& b);

/// The lines that a shortest edit from `a` to `b` removes ("- ") and adds ("+ "). Texts of more than 4,000 lines are
/// compared as a whole.
std::vector<std::string> line_differences(const std::string& a, const std::string& b);

}  // namespace cortado::runs

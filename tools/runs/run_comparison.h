#pragma once

// What differs between two runs.

#include <optional>
#include <string>
#include <vector>

namespace cortado::runs {

struct FileDifference {
  std::string name;                ///< "solver.prototxt"
  std::vector<std::string> lines;  ///< "- ..." is in the first alone, "+ ..." in the second
};

struct FactDifference {
  std::string name, a, b;  ///< "seed", "cpu", "data data/train_lmdb"
};

struct ScoreDifference {
  std::string name;
  std::optional<double> a, b;  ///< the best; none where it was not tested
};

struct RunComparison {
  std::vector<FileDifference> files;
  std::vector<FactDifference> facts;
  std::vector<ScoreDifference> scores;  ///< all, equal or not
};

/// Throws what reading the runs throws.
RunComparison compare_runs(const std::string& a, const std::string& b);

/// The lines of two texts that a shortest change of one into the other takes away ("- ") and adds ("+ "). Texts of more
/// than 4,000 lines that differ are compared as one change each.
std::vector<std::string> line_differences(const std::string& a, const std::string& b);

}  // namespace cortado::runs

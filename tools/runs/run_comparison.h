#pragma once

// The differences between runs.

#include <optional>
#include <string>
#include <vector>

namespace cortado::runs {

/// A setting of the solver, a flag, a property of the machine or an input, by run.
struct ValueDifference {
  std::string name;                 ///< "base_lr", "--seed", "cpu", "data data/train_lmdb"
  std::vector<std::string> values;  ///< an unchanged setting has its default; "": none
};

/// A field of a layer, by run.
struct LayerDifference {
  std::string net, layer;           ///< "net", "conv1"
  std::string field;                ///< "convolution_param.num_output"; "": only some of the nets have the layer
  std::vector<std::string> values;  ///< "": not set; without `field`: the layer's type, "" if the net does not have it
};

/// The best values of a score, by run; none if the run was not tested.
struct ScoreDifference {
  std::string name;
  std::vector<std::optional<double>> values;
  bool lower_is_better = false;
};

struct FileDifference {
  std::string name;                ///< "solver.prototxt"
  std::vector<std::string> lines;  ///< "- ..." is only in the first run, "+ ..." only in the second
};

struct RunComparison {
  std::vector<std::string> runs;
  std::vector<ScoreDifference> scores;  ///< all scores, equal or not
  std::vector<ValueDifference> settings;
  std::vector<LayerDifference> layers;
  std::vector<ValueDifference> facts;  ///< flags, machine and inputs
  std::vector<FileDifference> files;   ///< of the first two runs
};

/// Throws as reading the runs does. A net that cannot be read counts as one without layers.
RunComparison compare_runs(const std::vector<std::string>& runs);

/// "3 layers added, 1 removed, 2 changed", from the first run to the others.
std::string summary_of(const std::vector<LayerDifference>& layers);

/// `text` with "RUN" for the run's own folder in paths, because it differs between any two runs.
std::string without_folder(std::string text, const std::string& folder);

/// The lines that a shortest edit from `a` to `b` removes ("- ") and adds ("+ "). Texts of more than 4,000 lines are
/// compared as a whole.
std::vector<std::string> line_differences(const std::string& a, const std::string& b);

}  // namespace cortado::runs

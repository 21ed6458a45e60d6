#pragma once

// What `cortado check` finds in one file, and how it is reported.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "graph/graph.h"
#include "proto/cortado.pb.h"

namespace cortado::tools {

/// How many records of a dataset had their labels checked.
struct LabelsSeen {
  std::string source;
  int64_t records = 0, seen = 0;
};

/// Errors of labels that layers of the graph use as classes: the labels out of range, with the first record that has
/// one. Checks all records of sets of up to 100,000, and 4096 evenly spaced ones of larger sets. Adds an element to
/// `seen` for each set. The graph's shapes are known and its datasets open. Throws Error(kData).
std::vector<Diagnostic> label_errors(const graph::Graph& graph, std::vector<LabelsSeen>& seen);

/// A file's kind, size and diagnostics.
struct Finding {
  std::string path, kind = "net";
  int nets = 0;
  size_t layers = 0;
  int64_t params = 0;              ///< 0: unknown, or none
  int64_t train_bytes = 0;         ///< 0: unknown
  std::vector<LabelsSeen> labels;  ///< an element for each data layer of each net
  std::vector<Diagnostic> errors, warnings;
  ExitCode code = ExitCode::kOk;

  /// Adds diagnostics that are not in the list yet. An error of the net takes precedence over one of its dataset in
  /// `code`.
  void add(ExitCode found, const std::vector<Diagnostic>& list);
  void warn(const std::vector<Diagnostic>& list);

  void enter(caffe::Phase phase);  ///< diagnostics added from now on are of this phase
  void name_phases();  ///< appends the phase to diagnostics that only one of several phases has; leaves the phase
  /// A phase that only lacks blobs is not one that the net is meant for, if another phase has no errors: its errors
  /// become warnings.
  void forgive_unused_phase();
  const std::set<caffe::Phase>& phases() const { return phases_; }

 private:
  struct Reported {
    size_t index;  ///< in `errors`
    std::set<caffe::Phase> phases;
  };

  std::set<caffe::Phase> phases_;
  std::optional<caffe::Phase> phase_;
  std::map<std::string, Reported> reported_;  ///< by the rendered diagnostic
  std::set<std::string> warned_;
};

/// "2 nets, 10 layers, 431 080 params, 10.8 MiB train memory", and how many labels were checked, unless all were. A net
/// of one phase is "1 net (phase TRAIN), ...".
std::string summary_of(const Finding& finding);

nlohmann::ordered_json to_json(const Finding& finding);

}  // namespace cortado::tools

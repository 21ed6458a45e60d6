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

/// How many of a set's records had their labels checked.
struct LabelsSeen {
  std::string source;
  int64_t records = 0, seen = 0;
};

/// What is wrong with the labels that layers of the graph take for classes: those that are none, with the first record
/// that has one. Of sets of up to 100,000 records all are checked, of others 4096 at even distances; `seen`
/// receives a line for each set. The graph's shapes are known and its datasets open. Throws Error(kData).
std::vector<Diagnostic> label_mistakes(const graph::Graph& graph, std::vector<LabelsSeen>& seen);

/// What a file is, and what is wrong with it.
struct Finding {
  std::string path, kind = "net";
  int nets = 0;
  size_t layers = 0;
  int64_t params = 0;              ///< 0: not known, or none
  int64_t train_bytes = 0;         ///< 0: not known
  std::vector<LabelsSeen> labels;  ///< a line for each data layer of each net
  std::vector<Diagnostic> mistakes, warnings;
  ExitCode code = ExitCode::kOk;

  /// Mistakes added before are left out. A wrong net outranks the dataset that it could not be tried on.
  void add(ExitCode found, const std::vector<Diagnostic>& list);
  void warn(const std::vector<Diagnostic>& list);

  void enter(caffe::Phase phase);  ///< what is added from now on is found in this phase
  void name_phases();              ///< with what only one of several phases found; leaves the last
  const std::set<caffe::Phase>& phases() const { return phases_; }

 private:
  struct Told {
    size_t mistake;
    std::set<caffe::Phase> phases;
  };

  std::set<caffe::Phase> phases_;
  std::optional<caffe::Phase> phase_;
  std::map<std::string, Told> told_;  ///< mistakes, as they are shown
  std::set<std::string> warned_;
};

/// "2 nets, 10 layers, 431 080 params, 10.8 MiB train memory", and how many labels were looked at where not all were; a
/// net for one phase is "1 net (phase TRAIN), ...".
std::string summary_of(const Finding& finding);

nlohmann::ordered_json to_json(const Finding& finding);

}  // namespace cortado::tools

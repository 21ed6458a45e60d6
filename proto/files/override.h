#pragma once

// Fields set on a command line in addition to files: "net.layer[conv1].convolution_param.num_output=64",
// "solver.base_lr=0.1", "solver.stepvalue+=300".

#include <functional>
#include <string>
#include <vector>

#include "proto/files/python_types.h"
#include "proto/files/read_text.h"
#include "proto/text/override_path.h"

namespace cortado {

/// Changes to nets and solvers, in order. A path starts with `net` or `solver` and names fields from there down. An
/// element of a list is selected by its index or name: layer[conv1]. `=` replaces the value, or a whole list; `+=`
/// appends to a list. Values are written as in a prototxt: 0.1, TRAIN, [1, 2], { type: "xavier" }; text needs no
/// quotes. Paths count as if they were in the file (relative_paths.h). An empty value clears the field, or removes the
/// element from its list.
class Overrides {
 public:
  Overrides() = default;
  /// Throws Error(kUsage) for invalid syntax, with its place: "--set:2:11" is the 11th character of the second text.
  /// `types` are the layer types that classes in Python compute.
  explicit Overrides(const std::vector<std::string>& texts, PythonTypes types = {});

  bool empty() const { return paths_.empty() && types_.empty(); }
  const std::vector<std::string>& texts() const { return texts_; }
  bool has(const std::string& root) const;  ///< whether anything in "net" or "solver" is set

  /// Sets the fields, with positions in the texts, and upgrades old fields among them. Throws Error(kNet) with all
  /// errors.
  void apply(NetFile& file) const;
  void apply(SolverFile& file) const;

 private:
  void apply(const std::function<bool(const OverridePath&)>& which, google::protobuf::Message& message,
             Positions& positions, const std::string& paths_from) const;

  PythonTypes types_;
  std::vector<std::string> texts_;
  Positions places_;  ///< of the texts, one line each
  std::string text_;  ///< the lines
  std::vector<OverridePath> paths_;
};

}  // namespace cortado

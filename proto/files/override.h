#pragma once

// Fields that a command line sets over what files say: "net.layer[conv1].convolution_param.num_output=64",
// "solver.base_lr=0.1", "solver.stepvalue+=300".

#include <functional>
#include <string>
#include <vector>

#include "proto/files/read_text.h"
#include "proto/text/override_path.h"

namespace cortado {

/// Changes to nets and solvers, in order. A path starts with `net` or `solver` and names fields from there down; an
/// element of a list is named by its number or, where it has one, its name: layer[conv1]. `=` replaces what is there, a
/// list as a whole; `+=` appends to a list. Values are written as in a prototxt: 0.1, TRAIN, [1, 2], { type: "xavier"
/// }; text needs no quotes. Nothing behind `=` clears the field, or takes the element out of its list.
class Overrides {
 public:
  Overrides() = default;
  /// Throws Error(kUsage) for what is no path and value, with its place: "--set:2:11" is the 11th character of the
  /// second.
  explicit Overrides(const std::vector<std::string>& texts);

  bool empty() const { return paths_.empty(); }
  const std::vector<std::string>& texts() const { return texts_; }
  bool has(const std::string& root) const;  ///< whether anything of "net" or "solver" is set

  /// Sets the fields, with places of their own, and brings old forms that they have up to date. Throws Error(kNet) with
  /// all mistakes.
  void apply(NetFile& file) const;
  void apply(SolverFile& file) const;

 private:
  void apply(const std::function<bool(const OverridePath&)>& which, google::protobuf::Message& message,
             Positions& positions) const;

  std::vector<std::string> texts_;
  Positions places_;  ///< of the texts, each a line
  std::string text_;  ///< the lines
  std::vector<OverridePath> paths_;
};

}  // namespace cortado

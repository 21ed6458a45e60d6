#pragma once

// Invariants of every graph and plan, checked independently of the code that makes them. With BuildOptions::verify
// (--verify-passes; always on in tests) they are checked after each pass and for the plan.

#include <set>
#include <string>
#include <vector>

#include "graph/plan.h"

namespace cortado::graph {

/// What a pass establishes and every later pass preserves. Invariants that hold from build() on have no name: values
/// are written once and before they are read, readers and producers agree with the nodes, and every layer of the file
/// runs in exactly one node.
enum class Invariant {
  kShapes,       ///< values with known inputs have known, valid extents
  kBackward,     ///< every operand has a flag for its gradient, and they are consistent
  kOneGradient,  ///< at most one reader writes a gradient of a value
  kStorage,      ///< layouts and types follow each layer's rules
};

/// A description of every rule that the graph breaks; empty if it is valid.
std::vector<std::string> find_faults(const Graph& graph, const std::set<Invariant>& established);

/// The same for a plan: executes it twice symbolically, with a label for the content of each byte of the arena. A fault
/// is a step that reads memory whose content was overwritten or not yet written.
std::vector<std::string> find_faults(const Plan& plan);

/// Throws an internal Error that names `stage` and the first faults, if any.
void throw_if_invalid(const std::vector<std::string>& faults, const std::string& stage);

}  // namespace cortado::graph

#pragma once

// What must be true of every graph and plan, checked without the help of the code that made them. Passes rewrite the
// graph with few rules to hold them; here are the rules. BuildOptions::verify has each pass and the plan checked
// (--verify-passes; tests do it always).

#include <set>
#include <string>
#include <vector>

#include "graph/plan.h"

namespace cortado::graph {

/// What a pass establishes and every later pass keeps. What holds from build() on has no name: values are written once
/// and before they are read, readers and producers agree with the nodes, every layer of the file runs in exactly one
/// node.
enum class Invariant {
  kShapes,       ///< what has known inputs has known, sane extents
  kBackward,     ///< which gradients are wanted is said for every operand, and consistently
  kOneGradient,  ///< at most one reader sends a gradient to a value
  kStorage,      ///< layouts and types are what each layer's rules accept
};

/// Every rule that the graph breaks, in words; empty where it is sound.
std::vector<std::string> find_faults(const Graph& graph, const std::set<Invariant>& established);

/// The same of a plan: runs it twice without computing, with a label for what lies at each byte of the arena. A fault
/// is a step that reads what is no longer, or not yet, there.
std::vector<std::string> find_faults(const Plan& plan);

/// Throws an internal Error that names `stage` and the first faults, if there are any.
void throw_if_invalid(const std::vector<std::string>& faults, const std::string& stage);

}  // namespace cortado::graph

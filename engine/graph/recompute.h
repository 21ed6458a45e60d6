#pragma once

// Which values are recomputed in backward rather than kept from forward, and when.

#include <vector>

#include "graph/plan.h"

namespace cortado::graph {

/// Steps in time: forward of node n, the seeds of the losses, then backward from the last node to the first, with room
/// before each for the recomputes of all nodes up to it.
class Timeline {
 public:
  Timeline(int nodes, bool recomputes) : nodes_(nodes), stride_(recomputes ? nodes + 1 : 1) {}
  int forward(int n) const { return n; }
  int seeds() const { return nodes_; }
  int backward(int n) const { return nodes_ + (nodes_ - n) * stride_; }
  /// The recompute of node n's result before the backward step of node `target` >= n.
  int recompute(int n, int target) const { return backward(target) - (nodes_ - n); }

 private:
  int nodes_, stride_;
};

struct Recompute {
  int target = -1;  ///< runs before the backward of this node; -1: never
  int last = -1;    ///< time of its last reader
};

/// Per node, for a plan whose layers are prepared. Skips results that are kept, and those that backward does not need.
std::vector<Recompute> choose_recomputes(const Plan& plan, const Timeline& time);

/// The value and all values that share its memory as views.
std::vector<ValueId> same_memory(const Plan& plan, ValueId id);

/// Whether backward of the reading node, or of the value's producer, reads the value.
bool reads_in_backward(const Plan& plan, const Reader& reader);
bool maker_reads_in_backward(const Plan& plan, const Value& value);

}  // namespace cortado::graph

#pragma once

// Which values are made again in backward rather than kept from forward, and when.

#include <vector>

#include "graph/plan.h"

namespace cortado::graph {

/// Steps in time: forward of node n, then the seeds of the losses, then backward from the last node to the first, with
/// room before each for the recomputes of all nodes up to it.
class Timeline {
 public:
  Timeline(int nodes, bool recomputes) : nodes_(nodes), stride_(recomputes ? nodes + 1 : 1) {}
  int forward(int n) const { return n; }
  int seeds() const { return nodes_; }
  int backward(int n) const { return nodes_ + (nodes_ - n) * stride_; }
  /// Node n's result made again for the backward step of node `target` >= n.
  int recompute(int n, int target) const { return backward(target) - (nodes_ - n); }

 private:
  int nodes_, stride_;
};

struct Recompute {
  int target = -1;  ///< the node before whose backward it happens; -1: never
  int last = -1;    ///< time of the last step that reads it
};

/// Per node, for a plan whose layers are prepared. Nothing that is kept, and nothing that backward does not need.
std::vector<Recompute> choose_recomputes(const Plan& plan, const Timeline& time);

/// The value and all that are the same memory under other names.
std::vector<ValueId> same_memory(const Plan& plan, ValueId id);

/// Whether backward of the reading node reads the value, or that of the node that made it.
bool reads_in_backward(const Plan& plan, const Reader& reader);
bool maker_reads_in_backward(const Plan& plan, const Value& value);

}  // namespace cortado::graph

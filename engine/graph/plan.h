#pragma once

// A plan: which steps run, in which order, and the memory of every value. Immutable; a net only executes it.

#include <cstdint>
#include <string>
#include <vector>

#include "core/device/recording.h"
#include "graph/graph.h"

namespace cortado::graph {

/// A tensor's place in the arena. offset < 0: none, because it is not needed.
struct Slot {
  TensorSpec spec;
  int64_t offset = -1;
};

enum class Call : uint8_t { kForward, kBackward, kRecompute };

/// One call of a layer, with the places of its operands, in the order of Operands.
struct Step {
  NodeId node = -1;
  Call call = Call::kForward;
  std::vector<Slot> x = {}, y = {}, dx = {}, dy = {};
  Slot more_dy = {};  ///< the second gradient, where the node has Graph::dy_parts
  std::vector<int64_t> saved = {};
  int64_t scratch = -1;
  std::vector<bool> add_dw = {};        ///< per w: add to a gradient that an earlier step of the iteration wrote
  std::vector<WeightId> complete = {};  ///< weights whose gradient is complete after this step
  int64_t copy_dy_from = -1;            ///< >= 0: dy[0] is first copied from there, because the step overwrites it
  int64_t copy_dy_bytes = 0;
};

/// A gradient that starts at a loss: its elements are set to `weight` before backward.
struct LossGradient {
  ValueId value;
  int64_t offset;
  int64_t elements;
  float weight;
};

struct Plan {
  Graph graph;
  std::vector<LayerNeeds> needs;                 ///< per node
  std::vector<kernels::WeightFormat> w_formats;  ///< per weight
  std::vector<Step> forward, backward;           ///< in order; recomputes come before their readers
  std::vector<Slot> values;                      ///< per value: its place after forward
  std::vector<Slot> gradients;                   ///< per value: the place of its gradient in backward, if any
  std::vector<int64_t> dw_offsets;               ///< per weight: the offset of its gradient; -1: outside the arena
  std::vector<LossGradient> seeds;
  int64_t arena_bytes = 0;
  int64_t live_bytes = 0;  ///< maximum of live bytes over all steps

  int64_t weight_bytes() const;    ///< of all weights
  int64_t learned_bytes() const;   ///< of those that learn: the size of one history
  int64_t derived_bytes() const;   ///< of weights that layers derive
  int64_t gradient_bytes() const;  ///< of the gradients outside the arena
};

/// Prepares every layer and places every tensor. `formats_from`: the plan of the net whose weights this one will use
/// (same layer names), or null. Throws Error(kNet), or Error(kDevice) where memory does not suffice.
Plan make_plan(Graph graph, Context& context, const Plan* formats_from = nullptr);

/// The plan as text: steps, offsets, algorithms.
std::string to_text(const Plan& plan);

/// Prepares every layer of plan.graph, whose layouts are chosen, and sets plan.needs and plan.w_formats.
/// `formats_from`: the plan of the net whose weights this one will use, or null. Throws Error(kNet).
void prepare_layers(Plan& plan, Context& context, const Plan* formats_from);

/// Bytes of a step's operands, each counted once: a lower bound of what its kernels move. Forward reads x and w and
/// writes y. Backward reads dy, the x and y that it requested, and w for a dx; it writes dx and dw.
Traffic operand_traffic(const Plan& plan, const Step& step);

}  // namespace cortado::graph

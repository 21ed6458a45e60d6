#pragma once

// A plan: what runs, in which order, and where every value lives. Immutable once made; a net only executes it.

#include <cstdint>
#include <string>
#include <vector>

#include "core/device/recording.h"
#include "graph/graph.h"

namespace cortado::graph {

/// A tensor's place in the arena. offset < 0: it has no memory (it is not wanted).
struct Slot {
  TensorSpec spec;
  int64_t offset = -1;
};

enum class Call : uint8_t { kForward, kBackward, kRecompute };

/// One call of a layer: its operands' places, as Operands has them.
struct Step {
  NodeId node = -1;
  Call call = Call::kForward;
  std::vector<Slot> x = {}, y = {}, dx = {}, dy = {};
  Slot more_dy = {};  ///< where the node has Graph::dy_parts: the second
  std::vector<int64_t> saved = {};
  int64_t scratch = -1;
  std::vector<bool> add_dw = {};        ///< per w: an earlier step of the iteration has written it already
  std::vector<WeightId> complete = {};  ///< weights whose gradient no later step adds to
  int64_t copy_dy_from = -1;            ///< >= 0: dy[0] is copied from there first, because the step spoils it
  int64_t copy_dy_bytes = 0;
};

/// A gradient that starts at a loss: its elements are set to `value` before backward.
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
  std::vector<Step> forward, backward;           ///< in order; recomputes stand before their readers
  std::vector<Slot> values;                      ///< per value, where it is after forward
  std::vector<Slot> gradients;                   ///< per value, where its gradient is in backward, if it has one
  std::vector<int64_t> dw_offsets;               ///< per weight: its gradient's place; -1: outside the arena
  std::vector<LossGradient> seeds;
  int64_t arena_bytes = 0;
  int64_t live_bytes = 0;  ///< of the arena, what is needed at once where most is

  int64_t weight_bytes() const;    ///< of all weights
  int64_t learned_bytes() const;   ///< of those that learn, as much as one history takes
  int64_t derived_bytes() const;   ///< of what layers make of weights for themselves
  int64_t gradient_bytes() const;  ///< of the gradients outside the arena
};

/// Prepares every layer and places every tensor. `formats_from`: the plan of the net whose weights this one will use
/// (same layer names), or null. Throws Error(kNet), or Error(kDevice) when the memory is not there.
Plan make_plan(Graph graph, Context& context, const Plan* formats_from = nullptr);

/// The plan as text: steps, offsets, algorithms.
std::string to_text(const Plan& plan);

/// Prepares every layer of plan.graph, whose layouts are chosen, and fills plan.needs and plan.w_formats.
/// `formats_from`: the plan of the net whose weights this one will use, or null. Throws Error(kNet).
void prepare_layers(Plan& plan, Context& context, const Plan* formats_from);

/// The bytes of a step's operands, each once: forward reads x and w and writes y; backward reads dy, those of x and y
/// that it asked for, and w where it makes a dx, and writes dx and dw. The least that its kernels can move.
Traffic operand_traffic(const Plan& plan, const Step& step);

}  // namespace cortado::graph

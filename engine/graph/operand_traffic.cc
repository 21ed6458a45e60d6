#include <algorithm>

#include "graph/plan.h"

namespace cortado::graph {

namespace {

int64_t bytes_of(const std::vector<Slot>& slots) {
  int64_t sum = 0;
  for (const Slot& slot : slots)
    if (slot.offset >= 0) sum += slot.spec.bytes();
  return sum;
}

/// Bytes of the marked operands; an empty list marks none.
int64_t bytes_of(const std::vector<Slot>& slots, const std::vector<bool>& marked) {
  int64_t sum = 0;
  for (size_t i = 0; i < slots.size() && i < marked.size(); ++i)
    if (marked[i]) sum += slots[i].spec.bytes();
  return sum;
}

/// Bytes of the weights in the format that the kernels read.
int64_t weight_bytes(const Plan& plan, const Step& step) {
  int64_t sum = 0;
  const std::vector<kernels::WeightFormat>& derived = plan.needs[size_t(step.node)].derived;
  for (const kernels::WeightFormat& format : derived) sum += format.bytes();
  if (!derived.empty()) return sum;
  for (const WeightId id : plan.graph.node(step.node).w) sum += plan.w_formats[size_t(id)].bytes();
  return sum;
}

Traffic of_backward(const Plan& plan, const Step& step) {
  const Node& node = plan.graph.node(step.node);
  const LayerNeeds& needs = plan.needs[size_t(step.node)];
  Traffic traffic{bytes_of(step.x, needs.backward_reads_x) + bytes_of(step.y, needs.backward_reads_y) +
                      bytes_of(step.dy) + bytes_of({step.more_dy}),
                  bytes_of(step.dx)};
  if (std::find(node.wants_dx.begin(), node.wants_dx.end(), true) != node.wants_dx.end())
    traffic.read += weight_bytes(plan, step);
  for (size_t k = 0; k < node.w.size(); ++k)
    if (node.wants_dw[k]) traffic.written += plan.w_formats[size_t(node.w[k])].bytes();
  return traffic;
}

}  // namespace

Traffic operand_traffic(const Plan& plan, const Step& step) {
  if (step.call == Call::kBackward) return of_backward(plan, step);
  return {bytes_of(step.x) + weight_bytes(plan, step), bytes_of(step.y)};
}

}  // namespace cortado::graph

#include "tools/roofline.h"

#include <algorithm>

#include "core/machine_peak.h"
#include "tools/net_file.h"

namespace cortado::tools {

namespace {

double bytes_of(const std::vector<graph::Slot>& slots) {
  double sum = 0;
  for (const graph::Slot& slot : slots)
    if (slot.offset >= 0) sum += double(slot.spec.bytes());
  return sum;
}

/// Of those operands that are marked; an empty list marks none.
double bytes_of(const std::vector<graph::Slot>& slots, const std::vector<bool>& marked) {
  double sum = 0;
  for (size_t i = 0; i < slots.size() && i < marked.size(); ++i)
    if (marked[i]) sum += double(slots[i].spec.bytes());
  return sum;
}

/// As the kernels read them.
double weight_bytes(const graph::Plan& plan, const graph::Step& step) {
  double sum = 0;
  const std::vector<kernels::WeightFormat>& derived = plan.needs[size_t(step.node)].derived;
  for (const kernels::WeightFormat& format : derived) sum += double(format.bytes());
  if (!derived.empty()) return sum;
  for (const graph::WeightId id : plan.graph.node(step.node).w) sum += double(plan.w_formats[size_t(id)].bytes());
  return sum;
}

Work forward_work(const graph::Plan& plan, const graph::Step& step) {
  return {double(flops_of(plan.graph, plan.graph.node(step.node))),
          bytes_of(step.x) + bytes_of(step.y) + weight_bytes(plan, step)};
}

/// A gradient with respect to x and one with respect to the weights cost what forward does, each.
Work backward_work(const graph::Plan& plan, const graph::Step& step) {
  const graph::Node& node = plan.graph.node(step.node);
  const LayerNeeds& needs = plan.needs[size_t(step.node)];
  const auto any = [](const std::vector<bool>& list) {
    return std::find(list.begin(), list.end(), true) != list.end();
  };
  const bool to_x = any(node.wants_dx), to_w = any(node.wants_dw);
  Work work;
  work.flops = double(flops_of(plan.graph, node)) * (int(to_x) + int(to_w));
  work.bytes = bytes_of(step.x, needs.backward_reads_x) + bytes_of(step.y, needs.backward_reads_y) + bytes_of(step.dy) +
               bytes_of(step.dx);
  if (to_x) work.bytes += weight_bytes(plan, step);
  for (size_t k = 0; k < node.w.size(); ++k)
    if (node.wants_dw[k]) work.bytes += double(plan.w_formats[size_t(node.w[k])].bytes());
  return work;
}

}  // namespace

Work& Work::operator+=(const Work& other) {
  flops += other.flops;
  bytes += other.bytes;
  return *this;
}

Work work_of(const graph::Plan& plan, const graph::Step& step) {
  return step.call == graph::Call::kBackward ? backward_work(plan, step) : forward_work(plan, step);
}

Roofline::Roofline(int threads) : gflops(fma_peak_gflops(threads)), gbytes(memory_gbytes_per_second(threads)) {}

double Roofline::least_ms(const Work& work) const { return std::max(work.flops / gflops, work.bytes / gbytes) / 1e6; }

bool Roofline::memory_bound(const Work& work) const { return work.bytes / gbytes > work.flops / gflops; }

}  // namespace cortado::tools

#include "tools/net/roofline.h"

#include <algorithm>

#include "core/threads/machine_peak.h"
#include "graph/plan.h"
#include "tools/options/net_file.h"

namespace cortado::tools {

namespace {

/// The gradients with respect to x and to the weights cost as much as forward, each.
double step_flops(const graph::Plan& plan, const graph::Step& step) {
  const graph::Node& node = plan.graph.node(step.node);
  const double forward = double(flops_of(plan.graph, node));
  if (step.call != graph::Call::kBackward) return forward;
  const auto any = [](const std::vector<bool>& list) {
    return std::find(list.begin(), list.end(), true) != list.end();
  };
  return forward * (int(any(node.wants_dx)) + int(any(node.wants_dw)));
}

}  // namespace

Work& Work::operator+=(const Work& other) {
  flops += other.flops;
  bytes += other.bytes;
  return *this;
}

Work work_of(const graph::Plan& plan, const graph::Step& step) {
  const Traffic operands = graph::operand_traffic(plan, step);
  return {step_flops(plan, step), double(operands.read + operands.written)};
}

Roofline::Roofline(int threads) : gflops(fma_peak_gflops(threads)), gbytes(memory_gbytes_per_second(threads)) {}

double Roofline::least_ms(const Work& work) const { return std::max(work.flops / gflops, work.bytes / gbytes) / 1e6; }

bool Roofline::memory_bound(const Work& work) const { return work.bytes / gbytes > work.flops / gflops; }

}  // namespace cortado::tools

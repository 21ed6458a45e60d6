#include <sstream>

#include "graph/plan.h"

namespace cortado::graph {

namespace {

void print_slot(std::ostream& out, const char* name, const std::vector<Slot>& slots) {
  for (size_t i = 0; i < slots.size(); ++i)
    if (slots[i].offset >= 0) out << " " << name << i << "=" << slots[i].offset << "+" << slots[i].spec.bytes();
}

const char* call_name(Call call) {
  return call == Call::kForward ? "forward  " : call == Call::kBackward ? "backward " : "recompute  ";
}

void print_step(std::ostream& out, const Plan& plan, const Step& step) {
  const Node& node = plan.graph.node(step.node);
  out << call_name(step.call) << node.type << " '" << node.name << "'";
  print_slot(out, "x", step.x);
  print_slot(out, "y", step.y);
  print_slot(out, "dy", step.dy);
  print_slot(out, "more_dy", {step.more_dy});
  print_slot(out, "dx", step.dx);
  if (step.scratch >= 0) out << " scratch=" << step.scratch;
  if (step.copy_dy_from >= 0) out << " copies dy0 from " << step.copy_dy_from;
  const std::string& algorithm = plan.needs[size_t(step.node)].algorithm;
  if (!algorithm.empty()) out << "  [" << algorithm << "]";
  out << "\n";
}

}  // namespace

std::string to_text(const Plan& plan) {
  std::ostringstream out;
  out << "arena " << plan.arena_bytes << " bytes (" << plan.live_bytes << " needed at once), weights "
      << plan.weight_bytes() << " bytes, gradients " << plan.gradient_bytes() << " bytes";
  if (const int64_t derived = plan.derived_bytes(); derived > 0) out << ", derived weights " << derived << " bytes";
  out << "\n";
  for (const Step& step : plan.forward) print_step(out, plan, step);
  for (const Step& step : plan.backward) print_step(out, plan, step);
  return out.str();
}

}  // namespace cortado::graph

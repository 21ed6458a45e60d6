#include "tools/net/step_timing.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include "core/device/device_memory.h"
#include "tools/options/net_file.h"

namespace cortado::tools {

namespace {

using nlohmann::ordered_json;

double milliseconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Timing make_timing(const graph::Plan& plan) {
  const std::vector<StepTiming> none(plan.graph.nodes.size());
  return {none, none, none, {}, {}, {}, {}};
}

StepTiming& timing_of(Timing& timing, const graph::Step& step) {
  return (step.call == graph::Call::kForward     ? timing.forward_steps
          : step.call == graph::Call::kRecompute ? timing.recompute_steps
                                                 : timing.backward_steps)[size_t(step.node)];
}

/// The time of work on the net's device, until it completes.
template <typename Call>
double device_ms(Net& net, const Call& call) {
  return milliseconds([&] {
    call();
    synchronize(net.context());
  });
}

void time_iteration(Net& net, bool backward, Timing& timing) {
  const double forward_ms = device_ms(net, [&] { net.forward(); });
  const double backward_ms = backward ? device_ms(net, [&] { net.backward(); }) : 0;
  timing.forward.add(forward_ms);
  if (backward) timing.backward.add(backward_ms);
  timing.both.add(forward_ms + backward_ms);
  const graph::Plan& plan = net.plan();
  const auto time_step = [&](const graph::Step& step, const auto& call) {
    StepTiming& timed = timing_of(timing, step);
    const uint64_t before = net.context().joins;
    timed.samples.add(device_ms(net, call));
    timed.joins = net.context().joins - before;
  };
  for (size_t i = 0; i < net.forward_steps(); ++i) time_step(plan.forward[i], [&] { net.run_forward_step(i); });
  for (size_t i = 0; backward && i < net.backward_steps(); ++i)
    time_step(plan.backward[i], [&] { net.run_backward_step(i); });
}

/// Fills in the work of each step, and the sum.
void find_work(const graph::Plan& plan, Timing& timing) {
  for (const std::vector<graph::Step>* steps : {&plan.forward, &plan.backward})
    for (const graph::Step& step : *steps) timing.work += timing_of(timing, step).work = work_of(plan, step);
}

ordered_json step_json(const StepTiming& step, const Roofline& roof) {
  ordered_json json = step.samples.json();
  if (step.samples.empty()) return json;
  json["flops"] = step.work.flops;
  json["bytes"] = step.work.bytes;
  json["roofline_share"] = share_of_roof(step, roof);
  json["joins"] = step.joins;
  json["bound"] = roof.memory_bound(step.work) ? "memory" : "arithmetic";
  return json;
}

ordered_json layer_json(const Net& net, const Timing& timing, const Roofline& roof, size_t n) {
  const graph::Graph& graph = net.plan().graph;
  return {{"name", graph.nodes[n].name},
          {"type", graph.nodes[n].type},
          {"algorithm", net.plan().needs[n].algorithm},
          {"flops", flops_of(graph, graph.nodes[n])},
          {"forward", step_json(timing.forward_steps[n], roof)},
          {"backward", step_json(timing.backward_steps[n], roof)},
          {"recompute", step_json(timing.recompute_steps[n], roof)}};
}

}  // namespace

Timing time_net(Net& net, int64_t iterations, int64_t warm_up) {
  const bool backward = !net.plan().backward.empty();
  Timing timing = make_timing(net.plan()), unused = timing;
  find_work(net.plan(), timing);
  for (int64_t i = 0; i < warm_up; ++i) time_iteration(net, backward, unused);
  for (int64_t i = 0; i < iterations; ++i, ++net.context().pass) time_iteration(net, backward, timing);
  return timing;
}

double least_ms(const Timing& timing, const Roofline& roof) {
  double sum = 0;
  for (const auto* steps : {&timing.forward_steps, &timing.recompute_steps, &timing.backward_steps})
    for (const StepTiming& step : *steps)
      if (!step.samples.empty()) sum += roof.least_ms(step.work);
  return sum;
}

uint64_t joins_of(const Timing& timing) {
  uint64_t sum = 0;
  for (const auto* steps : {&timing.forward_steps, &timing.recompute_steps, &timing.backward_steps})
    for (const StepTiming& step : *steps) sum += step.joins;
  return sum;
}

double per_second(double amount, double ms) { return ms > 0 ? amount / (ms / 1000) : 0; }

double share_of_roof(const StepTiming& step, const Roofline& roof) {
  const double ms = step.samples.quantile(0.5);
  return ms > 0 ? roof.least_ms(step.work) / ms : 0;
}

nlohmann::ordered_json json_of(const Net& net, const Timing& timing, const Roofline& roof) {
  const double ms = timing.both.quantile(0.5);
  ordered_json json = {{"net", net.plan().graph.name},
                       {"batch", net.batch_size()},
                       {"peak_gflops", roof.gflops},
                       {"memory_gbytes_per_second", roof.gbytes},
                       {"layers", ordered_json::array()},
                       {"forward", timing.forward.json()},
                       {"backward", timing.backward.json()},
                       {"both", timing.both.json()},
                       {"flops", timing.work.flops},
                       {"gflops_per_second", per_second(timing.work.flops / 1e9, ms)},
                       {"roofline_share", ms > 0 ? least_ms(timing, roof) / ms : 0},
                       {"joins", joins_of(timing)},
                       {"images_per_second", per_second(double(net.batch_size()), ms)}};
  for (size_t n = 0; n < net.plan().graph.nodes.size(); ++n) json["layers"].push_back(layer_json(net, timing, roof, n));
  return json;
}

}  // namespace cortado::tools

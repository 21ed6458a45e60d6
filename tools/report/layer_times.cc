#include "tools/report/layer_times.h"

#include "tools/net/step_timing.h"

namespace cortado::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kTimedIterations = 5;

double median_ms(const StepTiming& step) { return step.samples.quantile(0.5); }

Json gflops_json(const StepTiming& step) {
  const double ms = median_ms(step);
  return step.work.flops > 0 && ms > 0 ? Json(per_second(step.work.flops / 1e9, ms)) : Json();
}

}  // namespace

Json layer_times(SolverNetReader& reader, Context& context) {
  const SolverNetFile wanted = reader.train();
  const std::unique_ptr<Net> net = make_net(wanted.file, wanted.options, context);
  const Timing timing = time_net(*net, kTimedIterations, 1);
  const auto ms_of = [&](size_t n) {
    return median_ms(timing.forward_steps[n]) + median_ms(timing.recompute_steps[n]) +
           median_ms(timing.backward_steps[n]);
  };
  const graph::Graph& graph = net->plan().graph;
  double sum = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) sum += ms_of(n);
  Json layers = Json::array();
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    layers.push_back({{"name", graph.nodes[n].name},
                      {"type", graph.nodes[n].type},
                      {"algorithm", net->plan().needs[n].algorithm},
                      {"forward_ms", median_ms(timing.forward_steps[n])},
                      {"backward_ms", median_ms(timing.recompute_steps[n]) + median_ms(timing.backward_steps[n])},
                      {"share", sum > 0 ? ms_of(n) / sum : 0},
                      {"forward_gflops", gflops_json(timing.forward_steps[n])},
                      {"backward_gflops", gflops_json(timing.backward_steps[n])}});
  return {{"batch", net->batch_size()},
          {"forward_ms", timing.forward.quantile(0.5)},
          {"backward_ms", timing.backward.quantile(0.5)},
          {"peak_gflops", context.device.is_cpu() ? Json(Roofline(context.threads).gflops) : Json()},
          {"layers", layers}};
}

}  // namespace cortado::tools

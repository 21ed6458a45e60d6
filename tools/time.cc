// `cortado time`: how long each layer takes. Every iteration is timed whole and then step by step, so that the totals
// hold no clock calls. A fused layer is one row with the names of all that it stands for.
#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "net/net.h"
#include "tools/command.h"
#include "tools/frozen_net.h"
#include "tools/net_file.h"
#include "tools/run_options.h"
#include "tools/terminal.h"

namespace cortado::tools {

namespace {

using nlohmann::ordered_json;

/// Milliseconds of many runs of one thing.
class Samples {
 public:
  void add(double ms) { ms_.push_back(ms); }
  bool empty() const { return ms_.empty(); }
  double total() const {
    double sum = 0;
    for (const double ms : ms_) sum += ms;
    return sum;
  }
  double mean() const { return ms_.empty() ? 0 : total() / double(ms_.size()); }
  double quantile(double share) const {
    if (ms_.empty()) return 0;
    std::vector<double> sorted = ms_;
    std::sort(sorted.begin(), sorted.end());
    return sorted[std::min(sorted.size() - 1, size_t(share * double(sorted.size())))];
  }
  ordered_json json() const {
    return {{"mean_ms", mean()}, {"median_ms", quantile(0.5)}, {"p90_ms", quantile(0.9)}, {"p99_ms", quantile(0.99)}};
  }

 private:
  std::vector<double> ms_;
};

double milliseconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

struct Timing {
  std::vector<Samples> forward_steps, backward_steps, rebuild_steps;  ///< per node
  Samples forward, backward, both;
};

void time_iteration(Net& net, bool backward, Timing& timing) {
  const double forward_ms = milliseconds([&] { net.forward(); });
  const double backward_ms = backward ? milliseconds([&] { net.backward(); }) : 0;
  timing.forward.add(forward_ms);
  if (backward) timing.backward.add(backward_ms);
  timing.both.add(forward_ms + backward_ms);
  const graph::Plan& plan = net.plan();
  for (size_t i = 0; i < net.forward_steps(); ++i)
    timing.forward_steps[size_t(plan.forward[i].node)].add(milliseconds([&] { net.run_forward_step(i); }));
  for (size_t i = 0; backward && i < net.backward_steps(); ++i) {
    auto& steps = plan.backward[i].call == graph::Call::kRebuild ? timing.rebuild_steps : timing.backward_steps;
    steps[size_t(plan.backward[i].node)].add(milliseconds([&] { net.run_backward_step(i); }));
  }
}

/// In Caffe's words, for those who read its logs.
void log_timing(const Net& net, const Timing& timing) {
  const auto& nodes = net.plan().graph.nodes;
  log_info() << "Average time per layer: ";
  for (size_t n = 0; n < nodes.size(); ++n) {
    const std::string name =
        nodes[n].name + std::string(nodes[n].name.size() < 10 ? 10 - nodes[n].name.size() : 0, ' ');
    log_info() << name << "\tforward: " << timing.forward_steps[n].mean() << " ms.";
    if (!timing.backward_steps[n].empty())
      log_info() << name << "\tbackward: " << timing.backward_steps[n].mean() << " ms.";
  }
  log_info() << "Average Forward pass: " << timing.forward.mean() << " ms.";
  log_info() << "Average Backward pass: " << timing.backward.mean() << " ms.";
  log_info() << "Average Forward-Backward: " << timing.both.mean() << " ms.";
  log_info() << "Total Time: " << timing.both.total() << " ms.";
  log_info() << "*** Benchmark ends ***";
}

double per_second(double amount, double ms) { return ms > 0 ? amount / (ms / 1000) : 0; }

std::string ms_text(double ms) { return number_text("%.3f", ms); }

void show_table(const Net& net, const Timing& timing) {
  const graph::Graph& graph = net.plan().graph;
  const auto text = [](const Samples& samples, double share) {
    return samples.empty() ? "" : ms_text(samples.quantile(share));
  };
  Table table({"layer", "type", "forward ms", "p90", "GFLOP/s", "backward ms", "p90", "rebuild ms", "algorithm"});
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Samples &forward = timing.forward_steps[n], &backward = timing.backward_steps[n];
    const double gflops = double(flops_of(graph, graph.nodes[n])) / 1e9;
    table.add({graph.nodes[n].name, graph.nodes[n].type, ms_text(forward.quantile(0.5)), ms_text(forward.quantile(0.9)),
               number_text("%.1f", per_second(gflops, forward.quantile(0.5))),
               text(backward, 0.5), text(backward, 0.9), text(timing.rebuild_steps[n], 0.5),
               net.plan().needs[n].algorithm});
  }
  std::cout << table.str({2, 3, 4, 5, 6, 7}) << "\n";
  for (const auto& [name, samples] : {std::pair<const char*, const Samples&>{"forward", timing.forward},
                                      {"backward", timing.backward},
                                      {"both", timing.both}}) {
    if (samples.empty()) continue;
    const double images = per_second(double(net.batch_size()), samples.quantile(0.5));
    std::cout << name << ": median " << ms_text(samples.quantile(0.5)) << " ms, mean " << ms_text(samples.mean())
              << ", p90 " << ms_text(samples.quantile(0.9)) << ", " << number_text("%.0f", images) << " img/s\n";
  }
}

void show_json(const Net& net, const Timing& timing) {
  const graph::Graph& graph = net.plan().graph;
  ordered_json json = {{"net", graph.name},
                       {"batch", net.batch_size()},
                       {"layers", ordered_json::array()},
                       {"forward", timing.forward.json()},
                       {"backward", timing.backward.json()},
                       {"both", timing.both.json()},
                       {"images_per_second", per_second(double(net.batch_size()), timing.both.quantile(0.5))}};
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    json["layers"].push_back({{"name", graph.nodes[n].name},
                              {"type", graph.nodes[n].type},
                              {"algorithm", net.plan().needs[n].algorithm},
                              {"flops", flops_of(graph, graph.nodes[n])},
                              {"forward", timing.forward_steps[n].json()},
                              {"backward", timing.backward_steps[n].json()},
                              {"rebuild", timing.rebuild_steps[n].json()}});
  std::cout << json.dump(2) << "\n";
}

int run_time(const Arguments& arguments) {
  Context context = make_context(arguments);
  graph::BuildOptions options;
  options.state = state_of(arguments, phase_of(arguments));
  options.backward = phase_of(arguments) == caffe::TRAIN && !arguments.on("forward-only");
  options.recompute = arguments.on("recompute");
  options.frozen = phase_of(arguments) == caffe::TEST;
  if (arguments.has("data-threads")) options.data_threads = int(arguments.integer("data-threads"));
  const auto net =
      make_net(with_batch(open_net(arguments.text("model")), arguments.integer("batch")), options, context);

  const size_t nodes = net->plan().graph.nodes.size();
  const std::vector<Samples> none(nodes);
  Timing timing{none, none, none, {}, {}, {}}, warm_up = timing;
  const int64_t iterations = arguments.integer("iterations");
  for (int64_t i = 0; i < std::min<int64_t>(3, iterations); ++i) time_iteration(*net, options.backward, warm_up);
  log_info() << "*** Benchmark begins ***";
  log_info() << "Testing for " << iterations << " iterations.";
  for (int64_t i = 0; i < iterations; ++i, ++context.pass) time_iteration(*net, options.backward, timing);
  log_timing(*net, timing);
  if (arguments.on("json"))
    show_json(*net, timing);
  else
    show_table(*net, timing);
  return 0;
}

}  // namespace

Command time_command() {
  return {.name = "time",
          .summary = "measures how long a net and each of its layers take",
          .flags = joined({{model_flag(),
                            phase_flag("TRAIN"),
                            {.name = "iterations",
                             .kind = FlagKind::kInteger,
                             .value = "N",
                             .help = "runs to measure, after three to warm up",
                             .fallback = "50",
                             .least = 1},
                            {.name = "forward-only", .help = "no backward pass"},
                            {.name = "batch",
                             .kind = FlagKind::kInteger,
                             .value = "N",
                             .help = "batch size; 0 leaves the net's",
                             .fallback = "0",
                             .least = 0,
                             .most = 1 << 24},
                            json_flag(),
                            data_threads_flag(),
                            recompute_flag()},
                           state_flags(),
                           device_flags()}),
          .operands = {},
          .examples = {{"cortado time --model=train_val.prototxt --iterations=20",
                        "a table of the layers, medians and 90th percentiles"},
                       {"cortado time --model=deploy.prototxt --phase=TEST --batch=1 --json",
                        "the latency of one image, for scripts"}},
          .run = run_time};
}

}  // namespace cortado::tools

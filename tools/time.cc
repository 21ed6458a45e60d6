// `cortado time`: how long each layer takes, and how near that is to what the machine allows (tools/roofline.h). Every
// iteration is timed whole and then step by step, so that the totals hold no clock calls. A fused layer is one row with
// the names of all that it stands for. With --phase=TEST it is the net as infer and classify run it.
#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/device_memory.h"
#include "core/log.h"
#include "net/net.h"
#include "tools/command.h"
#include "tools/decode_flag.h"
#include "tools/frozen_net.h"
#include "tools/kernel_choices.h"
#include "tools/net_file.h"
#include "tools/roofline.h"
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

/// All runs of one layer's step in one direction.
struct StepTiming {
  Samples samples;
  Work work;
};

struct Timing {
  std::vector<StepTiming> forward_steps, backward_steps, recompute_steps;  ///< per node
  Samples forward, backward, both;
};

Timing make_timing(const graph::Plan& plan) {
  const std::vector<StepTiming> none(plan.graph.nodes.size());
  return {none, none, none, {}, {}, {}};
}

StepTiming& timing_of(Timing& timing, const graph::Step& step) {
  return (step.call == graph::Call::kForward     ? timing.forward_steps
          : step.call == graph::Call::kRecompute ? timing.recompute_steps
                                                 : timing.backward_steps)[size_t(step.node)];
}

/// Of work on the net's device, from its beginning to its end.
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
  for (size_t i = 0; i < net.forward_steps(); ++i)
    timing_of(timing, plan.forward[i]).samples.add(device_ms(net, [&] { net.run_forward_step(i); }));
  for (size_t i = 0; backward && i < net.backward_steps(); ++i)
    timing_of(timing, plan.backward[i]).samples.add(device_ms(net, [&] { net.run_backward_step(i); }));
}

/// What the steps do, and the sum of it.
Work find_work(const graph::Plan& plan, Timing& timing) {
  Work sum;
  for (const std::vector<graph::Step>* steps : {&plan.forward, &plan.backward})
    for (const graph::Step& step : *steps) sum += timing_of(timing, step).work = work_of(plan, step);
  return sum;
}

/// The least time that all steps together could take, one after another.
double least_ms(const Timing& timing, const Roofline& roof) {
  double sum = 0;
  for (const auto* steps : {&timing.forward_steps, &timing.recompute_steps, &timing.backward_steps})
    for (const StepTiming& step : *steps)
      if (!step.samples.empty()) sum += roof.least_ms(step.work);
  return sum;
}

/// In Caffe's words, for readers of its logs.
void log_timing(const Net& net, const Timing& timing) {
  const auto& nodes = net.plan().graph.nodes;
  log_info() << "Average time per layer: ";
  for (size_t n = 0; n < nodes.size(); ++n) {
    const std::string name =
        nodes[n].name + std::string(nodes[n].name.size() < 10 ? 10 - nodes[n].name.size() : 0, ' ');
    log_info() << name << "\tforward: " << timing.forward_steps[n].samples.mean() << " ms.";
    if (!timing.backward_steps[n].samples.empty())
      log_info() << name << "\tbackward: " << timing.backward_steps[n].samples.mean() << " ms.";
  }
  log_info() << "Average Forward pass: " << timing.forward.mean() << " ms.";
  log_info() << "Average Backward pass: " << timing.backward.mean() << " ms.";
  log_info() << "Average Forward-Backward: " << timing.both.mean() << " ms.";
  log_info() << "Total Time: " << timing.both.total() << " ms.";
  log_info() << "*** Benchmark ends ***";
}

double per_second(double amount, double ms) { return ms > 0 ? amount / (ms / 1000) : 0; }

std::string ms_text(double ms) { return number_text("%.3f", ms); }

std::string share_text(double share) { return number_text("%.0f", 100 * share); }

/// The step's share of the roofline; 0 where it was not run.
double share_of_roof(const StepTiming& step, const Roofline& roof) {
  const double ms = step.samples.quantile(0.5);
  return ms > 0 ? roof.least_ms(step.work) / ms : 0;
}

/// "MEDIAN", "P90" and "SHARE %" of a step, empty where it was not run.
std::vector<std::string> cells_of(const StepTiming& step, const Roofline& roof) {
  if (step.samples.empty()) return {"", "", ""};
  return {ms_text(step.samples.quantile(0.5)), ms_text(step.samples.quantile(0.9)),
          share_text(share_of_roof(step, roof))};
}

void show_table(const Net& net, const Timing& timing, const Roofline& roof, const Work& work) {
  const graph::Graph& graph = net.plan().graph;
  Table table({"layer", "type", "forward ms", "p90", "% roof", "GFLOP/s", "MB", "backward ms", "p90", "% roof",
               "recompute ms", "algorithm"});
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const StepTiming &forward = timing.forward_steps[n], &recompute = timing.recompute_steps[n];
    std::vector<std::string> row = {graph.nodes[n].name, graph.nodes[n].type};
    const auto add = [&](const std::vector<std::string>& cells) { row.insert(row.end(), cells.begin(), cells.end()); };
    add(cells_of(forward, roof));
    add({number_text("%.1f", per_second(forward.work.flops / 1e9, forward.samples.quantile(0.5))),
         number_text("%.2f", forward.work.bytes / 1e6)});
    add(cells_of(timing.backward_steps[n], roof));
    add({recompute.samples.empty() ? "" : ms_text(recompute.samples.quantile(0.5)), net.plan().needs[n].algorithm});
    table.add(row);
  }
  std::cout << table.str({2, 3, 4, 5, 6, 7, 8, 9, 10}) << "\n";
  for (const auto& [name, samples] : {std::pair<const char*, const Samples&>{"forward", timing.forward},
                                      {"backward", timing.backward},
                                      {"both", timing.both}}) {
    if (samples.empty()) continue;
    const double images = per_second(double(net.batch_size()), samples.quantile(0.5));
    std::cout << name << ": median " << ms_text(samples.quantile(0.5)) << " ms, mean " << ms_text(samples.mean())
              << ", p90 " << ms_text(samples.quantile(0.9)) << ", " << number_text("%.0f", images) << " img/s\n";
  }
  const double ms = timing.both.quantile(0.5), gflops = per_second(work.flops / 1e9, ms);
  std::cout << "step: " << ms_text(ms) << " ms, " << number_text("%.1f", gflops) << " GFLOP/s, "
            << share_text(gflops / roof.gflops) << " % of the peak of " << number_text("%.1f", roof.gflops) << "; "
            << share_text(ms > 0 ? least_ms(timing, roof) / ms : 0) << " % of the roofline, memory gives "
            << number_text("%.1f", roof.gbytes) << " GB/s\n";
}

ordered_json step_json(const StepTiming& step, const Roofline& roof) {
  ordered_json json = step.samples.json();
  if (step.samples.empty()) return json;
  json["flops"] = step.work.flops;
  json["bytes"] = step.work.bytes;
  json["roofline_share"] = share_of_roof(step, roof);
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

void show_json(const Net& net, const Timing& timing, const Roofline& roof, const Work& work) {
  const double ms = timing.both.quantile(0.5);
  ordered_json json = {{"net", net.plan().graph.name},
                       {"batch", net.batch_size()},
                       {"peak_gflops", roof.gflops},
                       {"memory_gbytes_per_second", roof.gbytes},
                       {"layers", ordered_json::array()},
                       {"forward", timing.forward.json()},
                       {"backward", timing.backward.json()},
                       {"both", timing.both.json()},
                       {"flops", work.flops},
                       {"gflops_per_second", per_second(work.flops / 1e9, ms)},
                       {"roofline_share", ms > 0 ? least_ms(timing, roof) / ms : 0},
                       {"images_per_second", per_second(double(net.batch_size()), ms)}};
  for (size_t n = 0; n < net.plan().graph.nodes.size(); ++n) json["layers"].push_back(layer_json(net, timing, roof, n));
  std::cout << json.dump(2) << "\n";
}

int run_time(const Arguments& arguments) {
  Context context = make_context(arguments);
  choose_decoder(arguments, context);
  std::optional<Measuring> measuring;
  if (arguments.on("tune"))
    measure_everything(context);
  else
    measuring.emplace(arguments, context);
  graph::BuildOptions options;
  options.state = state_of(arguments, phase_of(arguments));
  options.backward = phase_of(arguments) == caffe::TRAIN && !arguments.on("forward-only");
  options.recompute = arguments.on("recompute");
  options.frozen = phase_of(arguments) == caffe::TEST;
  options.data_threads = data_threads_of(arguments);
  const auto net =
      make_net(with_batch(open_net(arguments.text("model"), overrides_of(arguments)), arguments.integer("batch")),
               options, context);
  measuring.reset();
  save_choices(arguments, context);

  const bool backward = !net->plan().backward.empty();
  const Roofline roof(context.threads);
  Timing timing = make_timing(net->plan()), warm_up = timing;
  const Work work = find_work(net->plan(), timing);
  const int64_t iterations = arguments.integer("iterations");
  for (int64_t i = 0; i < std::min<int64_t>(3, iterations); ++i) time_iteration(*net, backward, warm_up);
  log_info() << "*** Benchmark begins ***";
  log_info() << "Testing for " << iterations << " iterations.";
  for (int64_t i = 0; i < iterations; ++i, ++context.pass) time_iteration(*net, backward, timing);
  log_timing(*net, timing);
  if (arguments.on("json"))
    show_json(*net, timing, roof, work);
  else
    show_table(*net, timing, roof, work);
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
                            batch_flag(),
                            set_flag(),
                            json_flag(),
                            data_threads_flag(),
                            decode_flag(),
                            recompute_flag(),
                            tune_flag()},
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

// `cortado time`: the time of each layer (tools/net/step_timing.h), and its share of the machine's limits
// (tools/net/roofline.h). Fused layers are one row with all their names. With --phase=TEST the net is frozen, as in
// infer and classify.
#include <algorithm>
#include <iostream>

#include "core/log.h"
#include "core/text/text.h"
#include "core/threads/threads.h"
#include "net/net.h"
#include "tools/net/frozen_net.h"
#include "tools/net/step_timing.h"
#include "tools/options/flags.h"
#include "tools/options/kernel_choices.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
#include "tools/output/terminal.h"
#include "tools/program/command.h"

namespace cortado::tools {

namespace {

/// In Caffe's format, for programs that read its logs.
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

std::string ms_text(double ms) { return number_text("%.3f", ms); }

std::string percent_of(double share) { return number_text("%.0f", 100 * share); }

/// "MEDIAN", "P90" and "SHARE %" of a step; empty if it was not run.
std::vector<std::string> cells_of(const StepTiming& step, const Roofline& roof) {
  if (step.samples.empty()) return {"", "", ""};
  return {ms_text(step.samples.quantile(0.5)), ms_text(step.samples.quantile(0.9)),
          percent_of(share_of_roof(step, roof))};
}

/// The joins of a layer's steps.
std::string joins_text(const Timing& timing, size_t n) {
  return std::to_string(timing.forward_steps[n].joins + timing.recompute_steps[n].joins +
                        timing.backward_steps[n].joins);
}

/// What the joins of an iteration cost, and its least time with them.
void show_joins(const Timing& timing, const Roofline& roof, Context& context) {
  const uint64_t joins = joins_of(timing);
  const double cost = 1000 * seconds_of_join(context), least = least_ms(timing, roof);
  std::cout << "joins: " << joins << " of " << number_text("%.1f", 1000 * cost) << " us each on "
            << count_of(context.threads, "thread", "threads") << ", " << ms_text(double(joins) * cost) << " ms; plus "
            << ms_text(least) << " ms of the roofline: " << ms_text(double(joins) * cost + least) << " ms\n";
}

void show_table(const Net& net, const Timing& timing, const Roofline& roof, size_t columns, bool joins) {
  const graph::Graph& graph = net.plan().graph;
  std::vector<std::string> titles = {"layer", "type",        "forward ms", "p90",    "% roof",       "GFLOP/s",
                                     "MB",    "backward ms", "p90",        "% roof", "recompute ms", "algorithm"};
  if (joins) titles.push_back("joins");
  Table table(titles);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const StepTiming &forward = timing.forward_steps[n], &recompute = timing.recompute_steps[n];
    std::vector<std::string> row = {graph.nodes[n].name, graph.nodes[n].type};
    const auto add = [&](const std::vector<std::string>& cells) { row.insert(row.end(), cells.begin(), cells.end()); };
    add(cells_of(forward, roof));
    add({number_text("%.1f", per_second(forward.work.flops / 1e9, forward.samples.quantile(0.5))),
         number_text("%.2f", forward.work.bytes / 1e6)});
    add(cells_of(timing.backward_steps[n], roof));
    add({recompute.samples.empty() ? "" : ms_text(recompute.samples.quantile(0.5)), net.plan().needs[n].algorithm});
    if (joins) add({joins_text(timing, n)});
    table.add(row);
  }
  std::cout << table.str({2, 3, 4, 5, 6, 7, 8, 9, 10, 12}, columns, {8, 3, 6, 10, 5, 11, 9, 4}) << "\n";
  for (const auto& [name, samples] : {std::pair<const char*, const Samples&>{"forward", timing.forward},
                                      {"backward", timing.backward},
                                      {"both", timing.both}}) {
    if (samples.empty()) continue;
    const double images = per_second(double(net.batch_size()), samples.quantile(0.5));
    std::cout << name << ": median " << ms_text(samples.quantile(0.5)) << " ms, mean " << ms_text(samples.mean())
              << ", p90 " << ms_text(samples.quantile(0.9)) << ", " << number_text("%.0f", images) << " img/s\n";
  }
  const double ms = timing.both.quantile(0.5), gflops = per_second(timing.work.flops / 1e9, ms);
  std::cout << "step: " << ms_text(ms) << " ms, " << number_text("%.1f", gflops) << " GFLOP/s, "
            << percent_of(gflops / roof.gflops) << " % of the peak of " << number_text("%.1f", roof.gflops) << "; "
            << percent_of(ms > 0 ? least_ms(timing, roof) / ms : 0) << " % of the roofline, memory bandwidth "
            << number_text("%.1f", roof.gbytes) << " GB/s\n";
}

int run_time(const Arguments& arguments) {
  CommandContext context(arguments);
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
  const auto net = make_net(with_batch(open_model(arguments), arguments.integer("batch")), options, context);
  measuring.reset();
  save_choices(arguments, context);

  const Roofline roof(context.threads);
  const int64_t iterations = arguments.integer("iterations");
  log_info() << "*** Benchmark begins ***";
  log_info() << "Testing for " << iterations << " iterations.";
  const Timing timing = time_net(*net, iterations, std::min<int64_t>(3, iterations));
  log_timing(*net, timing);
  if (arguments.on("json"))
    std::cout << json_of(*net, timing, roof).dump(2) << "\n";
  else
    show_table(*net, timing, roof, columns_for(arguments), arguments.on("joins"));
  if (arguments.on("joins") && !arguments.on("json")) show_joins(timing, roof, context);
  return 0;
}

}  // namespace

Command time_command() {
  return {
      .name = "time",
      .summary = "Measure the time of a net and of each of its layers",
      .flags = joined({{model_flag(),
                        shape_flag(),
                        phase_flag("TRAIN"),
                        iterations_flag("50", 1, "after three to warm up"),
                        {.name = "forward-only", .help = "leave out the backward pass"},
                        {.name = "joins", .help = "count the waits for all threads, and what they cost"},
                        batch_flag(),
                        wide_flag(),
                        json_flag(),
                        set_flag(),
                        layer_flag()},
                       advanced({data_threads_flag(), decode_flag(), recompute_flag(), tune_flag()}),
                       state_flags(),
                       device_flags()}),
      .examples =
          {{"cortado time train_val.prototxt --iterations=20", "a table of the layers, medians and 90th percentiles"},
           {"cortado time deploy.prototxt --phase=TEST --batch=1 --json", "the latency of one image, for scripts"},
           {"cortado time deploy.prototxt --phase=TEST --joins", "how much of a pass more threads cannot shorten"}},
      .run = run_time};
}

}  // namespace cortado::tools

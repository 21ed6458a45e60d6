#include "tools/net/plan_launches.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text/dumped_json.h"
#include "solvers/iteration_cost.h"
#include "tools/options/run_options.h"
#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

using nlohmann::ordered_json;

constexpr double kPlanLaunchesMega = 1e6;

std::string megabytes(int64_t bytes) { return number_text("%.2f", double(bytes) / kPlanLaunchesMega); }

/// Of the first blob: images, or whatever a batch is counted in.
int64_t batch_of(const graph::Graph& graph) {
  for (const graph::Value& value : graph.values)
    if (value.shape.axes() > 0) return value.shape[0];
  return 0;
}

/// What memory is touched for each image. The update's part does not grow with the batch.
double megabytes_an_image(const IterationCost& cost, int64_t batch) {
  Traffic passes = cost.traffic;
  for (const StepCost& step : cost.steps)
    if (step.call == "update") passes += {-step.traffic.read, -step.traffic.written};
  return batch > 0 ? double(passes.read + passes.written) / double(batch) / kPlanLaunchesMega : 0;
}

ordered_json step_cost_json(const StepCost& step) {
  ordered_json json = {{"call", step.call}};
  if (!step.layer.empty()) json.update({{"type", step.type}, {"layer", step.layer}});
  json.update({{"launches", step.launches},
               {"bytes_read", step.traffic.read},
               {"bytes_written", step.traffic.written},
               {"by_operands", step.by_operands}});
  return json;
}

void print_json(const IterationCost& cost, int64_t batch) {
  ordered_json json = {{"launches", cost.launches},
                       {"bytes_read", cost.traffic.read},
                       {"bytes_written", cost.traffic.written},
                       {"batch", batch},
                       {"megabytes_per_image", megabytes_an_image(cost, batch)},
                       {"steps", ordered_json::array()}};
  for (const StepCost& step : cost.steps) json["steps"].push_back(step_cost_json(step));
  std::cout << dumped_json(json, 2) << "\n";
}

void print_table(const IterationCost& cost, int64_t batch) {
  Table table({"step", "type", "layer", "launches", "MB read", "MB written"});
  bool by_operands = false;
  for (const StepCost& step : cost.steps) {
    by_operands |= step.by_operands;
    table.add({step.call, step.type, step.layer, std::to_string(step.launches),
               megabytes(step.traffic.read) + (step.by_operands ? "*" : " "), megabytes(step.traffic.written)});
  }
  std::cout << table.str({3, 4, 5});
  if (by_operands) std::cout << "* its operands, each once: a kernel of it does not count its passes\n";
  std::cout << cost.launches << " launches an iteration, " << megabytes(cost.traffic.read) << " MB read, "
            << megabytes(cost.traffic.written) << " MB written; without the update "
            << number_text("%.2f", megabytes_an_image(cost, batch)) << " MB for each of " << batch << "\n";
}

}  // namespace

bool wants_launches(const Arguments& arguments) {
  if (!arguments.on("launches")) {
    if (arguments.on("json"))
      throw usage_error("--json goes with --launches and --ranks", "plan has no other form of its text");
    return false;
  }
  if (arguments.text("gpu") != "simulated")
    throw usage_error("--launches counts on the simulated device", "--gpu=simulated, with any --precision");
  if (phase_of(arguments) != caffe::TRAIN || !arguments.text("after").empty() || arguments.on("passes"))
    throw usage_error("--launches is of a whole iteration of training",
                      "it goes with none of --phase=TEST, --after and --passes");
  return true;
}

void show_launches(const Arguments& arguments, graph::Graph graph, Context& context) {
  const int64_t batch = batch_of(graph);
  Net net(graph::make_plan(std::move(graph), context), context);
  const IterationCost cost = iteration_cost(caffe::SolverParameter(), net);
  if (arguments.on("json"))
    print_json(cost, batch);
  else
    print_table(cost, batch);
}

}  // namespace cortado::tools

// `cortado summary`: a net's layers, shapes and memory, from its graph and plan only; the net's memory is not
// allocated. Layers and blobs are those of the file, from the graph before fusion. Memory is that of the plan.
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/text/json.h"
#include "graph/freeze.h"
#include "layers/registry.h"
#include "tools/net/net_memory.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
#include "tools/output/terminal.h"
#include "tools/program/command.h"

namespace cortado::tools {

namespace {

using nlohmann::ordered_json;

struct Summary {
  graph::Graph graph;  ///< after infer_shapes
  NetMemory memory{};
  int64_t flops = 0;
  bool training = false;
  int64_t batch = 0;   ///< 0: that of the file
  int64_t budget = 0;  ///< 0: none given
  FittingBatch fits{};
};

int64_t params_of(const graph::Graph& graph, const graph::Node& node) {
  int64_t sum = 0;
  for (const graph::WeightId id : node.w) sum += graph.weight(id).spec.shape.count();
  return sum;
}

int64_t frozen_of(const graph::Graph& graph, const graph::Node& node) {
  int64_t sum = 0;
  for (const graph::WeightId id : node.w) {
    const graph::Weight& weight = graph.weight(id);
    if (weight.spec.learned && !weight.learns()) sum += weight.spec.shape.count();
  }
  return sum;
}

ordered_json shape_json(const graph::Value& value) {
  return value.shape_known ? ordered_json(value.shape.dims()) : ordered_json();
}

ordered_json layer_summary_json(const graph::Graph& graph, const graph::Node& node) {
  ordered_json json = {{"name", node.name},
                       {"type", node.type},
                       {"bottoms", ordered_json::array()},
                       {"tops", ordered_json::array()},
                       {"params", params_of(graph, node)},
                       {"frozen_params", frozen_of(graph, node)},
                       {"flops", flops_of(graph, node)}};
  for (const graph::ValueId id : node.x) json["bottoms"].push_back(graph.value(id).name);
  for (const graph::ValueId id : node.y) json["tops"].push_back(graph.value(id).name);
  return json;
}

ordered_json summary_json(const Summary& summary) {
  const graph::Graph& graph = summary.graph;
  ordered_json json = {{"name", graph.name},
                       {"phase", caffe::Phase_Name(graph.phase())},
                       {"blobs", ordered_json::object()},
                       {"params", ordered_json::object()},
                       {"outputs", graph.output_names()}};
  for (const graph::Value& value : graph.values) json["blobs"][value.name] = shape_json(value);
  for (const graph::SourceLayer& layer : graph.layers)
    for (const graph::WeightId id : layer.weights)
      json["params"][layer.config->name()].push_back(graph.weight(id).spec.shape.dims());
  json["layers"] = ordered_json::array();
  for (const graph::Node& node : graph.nodes) json["layers"].push_back(layer_summary_json(graph, node));
  json["total_params"] = count_weights(graph, true);
  json["learned_params"] = count_weights(graph, true) - graph::count_frozen(graph);
  json["frozen_params"] = graph::count_frozen(graph);
  json["total_statistics"] = count_weights(graph, false);
  json["total_flops"] = summary.flops;
  const NetMemory& memory = summary.memory;
  json["memory_bytes"] = memory.known ? ordered_json(memory.total()) : ordered_json();
  json["memory"] = {{"values", memory.values},
                    {"weights", memory.weights},
                    {"gradients", memory.gradients},
                    {"history", memory.history}};
  if (summary.budget > 0)
    json["budget"] = {{"bytes", summary.budget}, {"batch", summary.fits.batch}, {"memory_bytes", summary.fits.bytes}};
  return json;
}

std::string mega_text(int64_t count) { return number_text("%.3f", double(count) / 1e6); }

std::string connections(const graph::Graph& graph, const graph::Node& node) {
  std::string text;
  for (const graph::ValueId id : node.x) text += (text.empty() ? "" : ",") + graph.value(id).name;
  text += text.empty() ? "-> " : " -> ";
  for (size_t i = 0; i < node.y.size(); ++i) text += (i ? "," : "") + graph.value(node.y[i]).name;
  return text;
}

std::string top_shapes(const graph::Graph& graph, const graph::Node& node) {
  std::string text;
  for (const graph::ValueId id : node.y) {
    const graph::Value& value = graph.value(id);
    text += (text.empty() ? "" : ", ") + (value.shape_known ? value.shape.str() : "?");
  }
  return text;
}

/// "batch: 64 samples of 3 x 28 x 28 from layer 'data'" for each layer whose batch --batch has set.
void show_batch(const graph::Graph& graph) {
  for (const graph::Node& node : graph.nodes) {
    const LayerType* type = find_layer_type(node.type);
    if (!type || type->batch_fields.empty() || node.y.empty()) continue;
    const graph::Value& value = graph.value(node.y[0]);
    if (!value.shape_known || value.shape.axes() == 0) continue;
    std::string sample;
    for (int axis = 1; axis < value.shape.axes(); ++axis)
      sample += (axis > 1 ? " x " : "") + std::to_string(value.shape[axis]);
    std::cout << "batch: " << value.shape[0] << " samples of " << (sample.empty() ? "one value" : sample)
              << " from layer '" << node.name << "'\n";
  }
}

void show_budget(const Summary& summary) {
  const std::string budget = bytes_text(summary.budget), doing = summary.training ? "train" : "run";
  if (summary.fits.batch == 0)
    std::cout << "budget: " << budget << " is not enough to " << doing << " with one sample\n";
  else
    std::cout << "budget: " << budget << " is enough to " << doing << " with a batch of up to "
              << count_text(summary.fits.batch) << ", which takes " << bytes_text(summary.fits.bytes) << "\n";
}

void show_summary(const Summary& summary, size_t columns) {
  const graph::Graph& graph = summary.graph;
  Table table({"layer", "type", "bottoms -> tops", "shape", "params", "MFLOP"});
  for (const graph::Node& node : graph.nodes)
    table.add({node.name, node.type, connections(graph, node), top_shapes(graph, node),
               count_text(params_of(graph, node)), mega_text(flops_of(graph, node))});
  std::cout << table.str({4, 5}, columns, {2}) << "\n";
  std::cout << (graph.name.empty() ? "the net" : graph.name) << " (" << caffe::Phase_Name(graph.phase())
            << "): " << graph.nodes.size() << " layers, " << count_text(count_weights(graph, true)) << " params";
  if (const int64_t frozen = graph::count_frozen(graph))
    std::cout << " (" << count_text(count_weights(graph, true) - frozen) << " learned, " << count_text(frozen)
              << " frozen)";
  if (const int64_t statistics = count_weights(graph, false))
    std::cout << " and " << count_text(statistics) << " statistics";
  std::cout << ", " << mega_text(summary.flops) << " MFLOP forward (1 MAC = 2 FLOP)\n";
  if (summary.batch > 0) show_batch(graph);
  const NetMemory& memory = summary.memory;
  if (!memory.known) {
    std::cout << "memory: unknown without the dataset's shapes\n";
    return;
  }
  std::cout << "memory: " << bytes_text(memory.total()) << (summary.training ? " to train" : " to run") << " = values "
            << bytes_text(memory.values) << ", weights " << bytes_text(memory.weights);
  if (summary.training) std::cout << ", history " << bytes_text(memory.history);
  if (memory.gradients > 0) std::cout << ", gradients " << bytes_text(memory.gradients);
  std::cout << "\n";
  if (summary.budget > 0) show_budget(summary);
}

void find_batch(const Arguments& arguments, const std::shared_ptr<const NetFile>& file,
                const graph::BuildOptions& options, Context& context, Summary& summary) {
  constexpr int64_t kMost = 1 << 16;
  summary.budget = read_bytes(arguments.text("budget"));
  summary.fits = largest_batch(summary.budget, kMost, [&](int64_t batch) {
    return plan_memory(with_batch(file, batch), options, context).total();
  });
}

int run_summary(const Arguments& arguments) {
  const auto file = with_batch(open_model(arguments), arguments.integer("batch"));
  graph::BuildOptions options;
  options.state = state_of(arguments, phase_of(arguments));
  options.backward = phase_of(arguments) == caffe::TRAIN;
  options.open_data = !arguments.on("no-data");
  options.transient_gradients = true;
  options.recompute = arguments.on("recompute");
  options.freeze = arguments.texts("freeze");
  Summary summary{.graph = graph_with_shapes(file, options), .training = options.backward};
  summary.batch = arguments.integer("batch");
  for (const graph::Node& node : summary.graph.nodes) summary.flops += flops_of(summary.graph, node);
  if (all_shapes_known(summary.graph)) {
    CommandContext context(arguments);
    summary.memory = plan_memory(file, options, context);
    if (arguments.has("budget")) find_batch(arguments, file, options, context, summary);
  } else if (arguments.has("budget")) {
    throw usage_error("--budget needs every shape", "leave out --no-data, or add an Input layer to the net");
  }
  if (arguments.on("json"))
    std::cout << dumped_json(summary_json(summary), 1) << "\n";
  else
    show_summary(summary, columns_for(arguments));
  return 0;
}

}  // namespace

Command summary_command() {
  return {
      .name = "summary",
      .summary = "Show a net's layers, shapes, parameters, FLOPs and memory",
      .flags = joined({{model_flag(), phase_flag("TRAIN"), batch_flag(), shape_flag(),
                        with_note(budget_flag(), "shows the largest batch that fits"), no_data_flag(), freeze_flag(),
                        wide_flag(), json_flag(), set_flag(), layer_flag(), recompute_flag()},
                       state_flags(),
                       device_flags()}),
      .examples = {{"cortado summary models/lenet/deploy.prototxt --phase=TEST", "a table, and the memory to run it"},
                   {"cortado summary models/lenet/train_val.prototxt --batch=256 --budget=8GB",
                    "the memory for a batch, and the largest batch that fits"},
                   {"cortado summary net.prototxt --json --no-data", "for scripts, without the dataset"}},
      .run = run_summary,
      .about =
          "Parameters are weights that solvers update; shared ones count once. Those frozen by lr_mult: 0 or --freeze "
          "and BatchNorm's running statistics are listed separately. Memory to train includes one history per weight, "
          "as SGD with momentum has. Gradients share the activations' memory, as in training without iter_size, "
          "clip_gradients and snapshot_diff; with one of these they need as much again as the weights."};
}

}  // namespace cortado::tools

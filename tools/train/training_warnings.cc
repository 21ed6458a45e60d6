#include "tools/train/training_warnings.h"

#include <algorithm>
#include <cmath>

#include "core/text/text.h"
#include "layers/registry.h"
#include "layers/roles.h"
#include "net/epoch.h"
#include "solvers/config.h"
#include "tools/output/terminal.h"
#include "tools/starter/starting_net.h"

namespace cortado::tools {

namespace {

/// A data layer that reads images of an open dataset.
struct ImageLayer {
  const graph::Node* node = nullptr;
  const caffe::LayerParameter* config = nullptr;
  const caffe::TransformationParameter& transform() const { return config->transform_param(); }
};

std::vector<ImageLayer> image_layers(const graph::Graph& graph) {
  std::vector<ImageLayer> layers;
  for (const graph::Node& node : graph.nodes) {
    if (!reads_records(node.type) || node.sources.empty() || !node.layer->roles().records) continue;
    layers.push_back({&node, graph.layers[size_t(node.sources[0])].config});
  }
  return layers;
}

bool has_mean(const caffe::TransformationParameter& transform) {
  return transform.has_mean_file() || transform.mean_value_size() > 0;
}

bool normalised_behind(const graph::Graph& graph, const graph::Node& node) {
  const graph::Value& images = graph.value(node.y[0]);
  return std::any_of(images.readers.begin(), images.readers.end(), [&](const graph::Reader& reader) {
    const LayerFamily family = family_of(*find_layer_type(graph.nodes[size_t(reader.node)].type));
    return family != LayerFamily::kConvolution && family != LayerFamily::kDense;
  });
}

std::string values_text(const caffe::TransformationParameter& transform) {
  std::string text = transform.has_mean_file() ? "mean_file" : "";
  for (const float value : transform.mean_value())
    text += (text.empty() ? "mean " : " ") + number_text("%g", double(value));
  if (text.empty()) text = "no mean";
  return text + ", scale " + number_text("%g", double(transform.scale()));
}

bool same_values(const caffe::TransformationParameter& a, const caffe::TransformationParameter& b) {
  return a.scale() == b.scale() && a.mean_file() == b.mean_file() &&
         std::equal(a.mean_value().begin(), a.mean_value().end(), b.mean_value().begin(), b.mean_value().end());
}

/// The batch size of the first data layer, in images.
int64_t record_batch(const graph::Graph& graph) {
  for (const graph::Node& node : graph.nodes)
    if (node.layer->roles().records && !node.y.empty() && graph.value(node.y[0]).shape_known)
      return graph.value(node.y[0]).shape[0];
  return 0;
}

Diagnostic warning(Place place, std::string message, std::string hint) {
  return {std::move(place), std::move(message), std::move(hint), {}};
}

}  // namespace

std::vector<Diagnostic> raw_value_warnings(const graph::Graph& train) {
  std::vector<Diagnostic> warnings;
  for (const ImageLayer& layer : image_layers(train)) {
    const caffe::TransformationParameter& transform = layer.transform();
    if (has_mean(transform) || transform.scale() != 1 || normalised_behind(train, *layer.node)) continue;
    warnings.push_back(warning(
        train.place(*layer.node, "transform_param"),
        layer_text(layer.node->name) + " passes images with values 0 to 255: transform_param has no mean_value, "
                                       "mean_file or scale",
        "set transform_param { mean_value: ... scale: ... }; print the values with `cortado data "
        "stats`"));
  }
  return warnings;
}

std::vector<Diagnostic> unlike_value_warnings(const graph::Graph& train, const graph::Graph& test) {
  const std::vector<ImageLayer> trains = image_layers(train), tests = image_layers(test);
  if (trains.empty() || tests.empty() || same_values(trains[0].transform(), tests[0].transform())) return {};
  return {warning(test.place(*tests[0].node, "transform_param"),
                  "testing prepares images with " + values_text(tests[0].transform()) + ", training with " +
                      values_text(trains[0].transform()),
                  "use the same values in both phases")};
}

std::vector<Diagnostic> stored_statistics_warnings(const SolverFile& solver, const graph::Graph& train) {
  std::vector<Diagnostic> warnings;
  if (solver.solver.weights_size() > 0) return warnings;
  for (const graph::Node& node : train.nodes) {
    if (!reads_options(node.type, "batch_norm_param") || node.sources.empty()) continue;
    const caffe::BatchNormParameter& options = train.layers[size_t(node.sources[0])].config->batch_norm_param();
    if (!options.has_use_global_stats() || !options.use_global_stats()) continue;
    warnings.push_back(
        warning(train.place(node, "batch_norm_param.use_global_stats"),
                layer_text(node.name) + " trains with stored statistics, but the training starts without "
                                        "weights",
                "remove use_global_stats: training then uses the statistics of batches, testing the stored ones"));
    break;  // one warning is enough
  }
  return warnings;
}

std::vector<Diagnostic> rate_warnings(const SolverFile& solver, const graph::Graph& train) {
  const caffe::SolverParameter& config = solver.solver;
  const int64_t batch = record_batch(train) * std::max(1, config.iter_size()) * std::max(1, config.shards());
  const std::optional<KnownRecipe> known = recipe_for_net(train.name);
  if (!known || batch == 0 || config.base_lr() <= 0 || known->recipe.type != config.type()) return {};
  constexpr double kFar = 8;
  const double wanted = double(known->recipe.base_lr) * double(batch) / double(known->recipe.batch);
  const double ratio = double(config.base_lr()) / wanted;
  if (ratio <= kFar && (ratio >= 1 / kFar || config.weights_size() > 0)) return {};
  return {mistake_at(
      solver,
      FieldError("base_lr",
                 "base_lr " + number_text("%g", double(config.base_lr())) + " for updates of " + std::to_string(batch) +
                     " images is " +
                     (ratio > 1 ? number_text("%.0f times", ratio) : "1/" + number_text("%.0f", 1 / ratio) + " of") +
                     " the rate of models/" + known->name + ", " + number_text("%g", double(known->recipe.base_lr)) +
                     " for " + std::to_string(known->recipe.batch),
                 "set base_lr to " + number_text("%.2g", wanted) + ", in proportion to the batch size"))};
}

std::vector<Diagnostic> test_size_warnings(const SolverFile& solver, int test, const graph::Graph& graph) {
  const caffe::SolverParameter& config = solver.solver;
  const int64_t records = records_if_known(graph), batch = record_batch(graph);
  if (config.test_epoch() || test >= config.test_iter_size() || records == 0 || batch == 0) return {};
  const int64_t seen = batch * config.test_iter(test);
  if (seen == 0 || (seen >= records && seen < records + batch)) return {};
  const std::string share = seen < records
                                ? number_text("%.0f%%", 100 * double(seen) / double(records)) + " of it is tested"
                                : "it is tested " + number_text("%.3g", double(seen) / double(records)) + " times";
  return {mistake_at(solver,
                     FieldError("test_iter[" + std::to_string(test) + "]",
                                "test_iter " + std::to_string(config.test_iter(test)) + " x " + std::to_string(batch) +
                                    " images is not the test set of " + count_text(records) + ": " + share,
                                "set test_epoch: true to test each image once, or test_iter: " +
                                    std::to_string((records + batch - 1) / batch)))};
}

}  // namespace cortado::tools

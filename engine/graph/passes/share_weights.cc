// Merges weights with the same `param { name }` into one, owned by the first layer that lists it.

#include <map>

#include "graph/passes/passes.h"

namespace cortado::graph {

namespace {

const char* const kOneOfThem = "set it in only one of the layers, or to the same value in all";

const caffe::ParamSpec& spec_of(const Graph& graph, const Weight& weight) {
  const Node& node = graph.node(weight.owner);
  return graph.source(node.sources[0]).config->param(weight.index);
}

/// The field of the factor that both set to different values, or "".
std::string different_factor(const caffe::ParamSpec& a, const caffe::ParamSpec& b) {
  if (a.has_lr_mult() && b.has_lr_mult() && a.lr_mult() != b.lr_mult()) return "lr_mult";
  if (a.has_decay_mult() && b.has_decay_mult() && a.decay_mult() != b.decay_mult()) return "decay_mult";
  return "";
}

/// Adds an error where `user` cannot use `owner`'s memory; returns whether it can.
bool compatible(const Graph& graph, const Weight& owner, const Weight& user, Mistakes& mistakes) {
  const caffe::ParamSpec& spec = spec_of(graph, user);
  const Node& node = graph.node(user.owner);
  const std::string field = "param[" + std::to_string(user.index) + "].";
  const Note owner_here{graph.place(graph.node(owner.owner)),
                        "layer '" + owner.layer + "' owns '" + owner.share_name + "', shape " + owner.spec.shape.str()};
  const auto complain = [&](const std::string& name, const std::string& message, const std::string& hint) {
    mistakes.add({graph.place(node, field + name), "layer '" + user.layer + "': " + message, hint, {owner_here}});
    return false;
  };
  const bool by_count = spec.share_mode() == caffe::ParamSpec::PERMISSIVE;
  if (by_count ? owner.spec.shape.count() != user.spec.shape.count() : owner.spec.shape != user.spec.shape)
    return complain("name", "shares '" + user.share_name + "' but its own shape is " + user.spec.shape.str(),
                    by_count ? "" : "set share_mode: PERMISSIVE to require only equal counts");
  const std::string differs = different_factor(spec_of(graph, owner), spec);
  if (!differs.empty())
    return complain(differs, "shared weight '" + user.share_name + "' has two different " + differs, kOneOfThem);
  return true;
}

/// Layers whose shapes are unknown have no weights yet: only their factors can be compared.
void compare_factors(const Graph& graph, Mistakes& mistakes) {
  std::map<std::string, std::pair<const caffe::ParamSpec*, size_t>> first;  // with its layer
  for (size_t i = 0; i < graph.layers.size(); ++i) {
    const caffe::LayerParameter& config = *graph.layers[i].config;
    for (int k = 0; k < config.param_size(); ++k) {
      const std::string& name = config.param(k).name();
      if (name.empty()) continue;
      const auto [found, is_new] = first.emplace(name, std::pair(&config.param(k), i));
      const auto& [owner, maker] = found->second;
      if (is_new || (!graph.layers[i].weights.empty() && !graph.layers[maker].weights.empty())) continue;
      const std::string differs = different_factor(*owner, config.param(k));
      if (differs.empty()) continue;
      mistakes.add({graph.place_of_layer(int(i), "param[" + std::to_string(k) + "]." + differs),
                    "layer '" + config.name() + "': shared weight '" + name + "' has two different " + differs,
                    kOneOfThem,
                    {{graph.place_of_layer(int(maker)),
                      "layer '" + graph.layers[maker].config->name() + "' owns '" + name + "'"}}});
    }
  }
}

void renumber(Graph& graph, const std::vector<WeightId>& owner_of) {
  std::vector<WeightId> fresh(graph.weights.size(), -1);
  std::vector<Weight> left;
  for (size_t id = 0; id < graph.weights.size(); ++id)
    if (owner_of[id] == WeightId(id)) {
      fresh[id] = int(left.size());
      left.push_back(std::move(graph.weights[id]));
    }
  const auto replace = [&](std::vector<WeightId>& ids) {
    for (WeightId& id : ids) id = fresh[size_t(owner_of[size_t(id)])];
  };
  for (Node& node : graph.nodes) replace(node.w);
  for (SourceLayer& layer : graph.layers) replace(layer.weights);
  graph.weights = std::move(left);
}

}  // namespace

void share_weights(Graph& graph) {
  Mistakes mistakes;
  std::map<std::string, WeightId> owners;
  std::vector<WeightId> owner_of(graph.weights.size());
  for (size_t id = 0; id < graph.weights.size(); ++id) {
    owner_of[id] = WeightId(id);
    const Weight& weight = graph.weights[id];
    if (weight.share_name.empty()) continue;
    const auto [found, is_new] = owners.emplace(weight.share_name, WeightId(id));
    if (is_new || !compatible(graph, graph.weight(found->second), weight, mistakes)) continue;
    Weight& owner = graph.weight(found->second);
    const caffe::ParamSpec& spec = spec_of(graph, weight);
    if (spec.has_lr_mult()) owner.lr_mult = spec.lr_mult();
    if (spec.has_decay_mult()) owner.decay_mult = spec.decay_mult();
    owner_of[id] = found->second;
  }
  compare_factors(graph, mistakes);
  mistakes.throw_if_any(ExitCode::kNet);
  renumber(graph, owner_of);
}

}  // namespace cortado::graph

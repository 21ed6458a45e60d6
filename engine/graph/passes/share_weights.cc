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
  const caffe::ParamSpec& first = spec_of(graph, owner);
  if (spec.has_lr_mult() && first.has_lr_mult() && spec.lr_mult() != first.lr_mult())
    return complain("lr_mult", "shared weight '" + user.share_name + "' has two different lr_mult", kOneOfThem);
  if (spec.has_decay_mult() && first.has_decay_mult() && spec.decay_mult() != first.decay_mult())
    return complain("decay_mult", "shared weight '" + user.share_name + "' has two different decay_mult", kOneOfThem);
  return true;
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
  mistakes.throw_if_any(ExitCode::kNet);
  renumber(graph, owner_of);
}

}  // namespace cortado::graph

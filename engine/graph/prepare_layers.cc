// Passes each layer the planner's choices and records its needs. A weight has the format that the first layer listing
// it requests; where another net owns the memory, that net's format.

#include <algorithm>

#include "core/text/text.h"
#include "graph/layer_mistake.h"
#include "graph/plan.h"
#include "kernels/kernel_cache.h"

namespace cortado::graph {

namespace {

/// Depends only on the layer's name and position, so that its random draws are the same in every run.
uint64_t seed_of(const Node& node) {
  uint64_t hash = 1469598103934665603ull;  // FNV-1a
  for (const char c : node.name) hash = (hash ^ uint64_t(static_cast<unsigned char>(c))) * 1099511628211ull;
  return hash;
}

class Preparation {
 public:
  Preparation(Plan& plan, Context& context, const Plan* formats_from)
      : context_(context), from_(formats_from), plan_(plan), graph_(plan.graph) {}

  void run() {
    take_given_formats();
    prepare_all();
  }

 private:
  void take_given_formats() {
    plan_.w_formats.resize(graph_.weights.size());
    given_.assign(graph_.weights.size(), false);
    if (!from_) return;
    const std::vector<WeightId> theirs = weights_in(from_->graph, graph_);
    for (size_t id = 0; id < graph_.weights.size(); ++id) {
      if (theirs[id] < 0) continue;
      const Weight &weight = graph_.weights[id], &owner = from_->graph.weight(theirs[id]);
      if (owner.spec.shape != weight.spec.shape)
        throw Error(ExitCode::kNet, {graph_.place_of_layer(graph_.source_named(weight.layer)),
                                     layer_text(weight.layer) + ": its weights have shape " + weight.spec.shape.str() +
                                         " here and " + owner.spec.shape.str() + " in the training net",
                                     "layers of the same name share weights between the nets: rename one of them",
                                     {}});
      plan_.w_formats[id] = from_->w_formats[size_t(theirs[id])];
      given_[id] = true;
    }
  }

  /// Divides the time budget for measuring kernels by the layers' work.
  void prepare_all() {
    std::vector<double> work;
    double all = 0;
    for (const Node& node : graph_.nodes) all += work.emplace_back(work_of(node));
    auto& choices = context_.handle<kernels::KernelCache>();
    choices.begin_plan();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      choices.add_budget(all > 0 ? work[n] / all : 0);
      prepare(graph_.nodes[n]);
      choices.tell(int64_t(n) + 1, int64_t(graph_.nodes.size()));
    }
  }

  double work_of(const Node& node) {
    std::vector<Shape> x, y;
    for (const ValueId id : node.x) x.push_back(graph_.value(id).shape);
    for (const ValueId id : node.y) y.push_back(graph_.value(id).shape);
    return double(node.layer->flops(x, y)) * (node.runs_backward ? 3 : 1);
  }

  void prepare(Node& node) {
    PrepareRequest request;
    for (const ValueId id : node.x) request.x.push_back(graph_.value(id).spec());
    for (const ValueId id : node.y) request.y.push_back(graph_.value(id).spec());
    for (const WeightId id : node.w) {
      request.w.push_back({graph_.weight(id).spec.shape, DType::kF32, Layout::kPlain});
      request.fixed_weight_formats = request.fixed_weight_formats || given_[size_t(id)];
    }
    if (request.fixed_weight_formats)
      for (const WeightId id : node.w)
        request.w_formats.push_back(given_[size_t(id)] ? plan_.w_formats[size_t(id)]
                                                       : kernels::WeightFormat(graph_.weight(id).spec.shape));
    request.wants_dx = node.wants_dx;
    request.wants_dw = node.wants_dw;
    request.post = node.post;
    request.backward = node.runs_backward;
    request.fusions = node.fusions;
    request.observed = graph_.options.observed;
    request.frozen = graph_.options.frozen;
    request.adds_dw = graph_.options.accumulates || shares_weights(node);
    request.updates_derived = updates_derived(node);
    request.layer_seed = seed_of(node);
    plan_.needs.push_back(prepare_layer(node, request));
    if (const Aliasing& shared = plan_.needs.back().aliasing;
        request.observed && !shared.view && (shared.dx_is_dy || shared.dx_are_one))
      throw_internal(layer_text(node.name, node.type) + " shares the memory of gradients in an observed net");
    take_formats(node, request, plan_.needs.back());
  }

  /// Kernels of a device read 16-bit weights, which the update writes in addition to the 32-bit ones.
  bool updates_derived(const Node& node) {
    return graph_.options.backward && !graph_.options.frozen && graph_.options.value_type != DType::kF32 &&
           !context_.shares_host_memory() && !shares_weights(node);
  }

  bool shares_weights(const Node& node) {
    for (const WeightId id : node.w) {
      int users = 0;
      for (const Node& other : graph_.nodes) users += int(std::count(other.w.begin(), other.w.end(), id));
      if (users > 1) return true;
    }
    return false;
  }

  LayerNeeds prepare_layer(Node& node, const PrepareRequest& request) {
    try {
      return node.layer->prepare(request, context_);
    } catch (const FieldError& e) {
      throw Error(ExitCode::kNet, layer_mistake(graph_, node, e));
    }
  }

  void take_formats(const Node& node, const PrepareRequest& request, const LayerNeeds& needs) {
    for (size_t k = 0; k < node.w.size(); ++k) {
      const size_t id = size_t(node.w[k]);
      if (given_[id]) continue;
      plan_.w_formats[id] = request.fixed_weight_formats ? request.w_formats[k]
                            : needs.w_formats.empty()    ? kernels::WeightFormat(graph_.weights[id].spec.shape)
                                                         : needs.w_formats[k];
      given_[id] = true;
    }
  }

  Context& context_;
  const Plan* from_;
  Plan& plan_;
  Graph& graph_;
  std::vector<bool> given_;  // per weight: whether its format is fixed
};

}  // namespace

void prepare_layers(Plan& plan, Context& context, const Plan* formats_from) {
  Preparation(plan, context, formats_from).run();
}

}  // namespace cortado::graph

#include "net/net.h"

#include <algorithm>

#include "core/rng.h"
#include "core/text/text.h"
#include "graph/layer_mistake.h"
#include "layers/common/losses/class_labels.h"
#include "layers/roles.h"
#include "net/bound_step.h"

namespace cortado {

namespace {

constexpr uint64_t kWeightStream = 0x7765696768747321ull;  // separates the fillers' random draws from the layers'

/// Runs a layer. An error that occurs only in a pass, as of a user's Python code, gets the layer's place.
template <typename Work>
void run_layer(const graph::Graph& graph, graph::NodeId id, const Work& work) {
  try {
    work();
  } catch (const FieldError& e) {
    throw Error(ExitCode::kNet, graph::layer_mistake(graph, graph.node(id), e));
  }
}

}  // namespace

std::vector<NetOutput> outputs_of(const graph::Graph& graph) {
  std::vector<NetOutput> outputs;
  for (const std::string& blob : graph.output_names()) {
    const graph::ValueId id = graph.names.at(blob);
    const graph::Value& value = graph.value(id);
    const graph::Node& node = graph.node(value.producer);
    const auto* scoring = node.layer->roles().scoring;
    outputs.push_back(
        {blob, id, value.shape, value.loss_weight, node.type, scoring ? scoring->detection_classes() : 0});
  }
  return outputs;
}

Net::Net(graph::Plan plan, Context& context, Net* weights_of)
    : plan_(std::move(plan)), context_(context), memory_(std::make_unique<WeightMemory>()) {
  take_memory();
  place_weights(weights_of);
  bind();
  bind_completions();
  find_stage();
  outputs_ = outputs_of(plan_.graph);
}

Net::~Net() = default;

/// On out of memory, the error has notes with the largest blobs.
void Net::take_memory() {
  try {
    arena_ = DeviceMemory(context_, size_t(plan_.arena_bytes));
  } catch (const Error& error) {
    Diagnostic mistake = error.mistakes()[0];
    std::vector<graph::ValueId> largest;
    for (size_t id = 0; id < plan_.values.size(); ++id) largest.push_back(graph::ValueId(id));
    const auto bytes = [&](graph::ValueId id) { return plan_.graph.value(id).spec().bytes(); };
    std::sort(largest.begin(), largest.end(), [&](auto a, auto b) { return bytes(a) > bytes(b); });
    for (size_t i = 0; i < std::min<size_t>(3, largest.size()); ++i) {
      const graph::Value& value = plan_.graph.value(largest[i]);
      mistake.notes.push_back({{},
                               "blob '" + value.name + "' " + value.shape.str() + " takes " +
                                   std::to_string(bytes(largest[i]) >> 20) + " MiB"});
    }
    throw Error(error.code(), mistake);
  }
  losses_ = Losses(plan_, arena_.data(), context_);
  if (!plan_.graph.options.observed) return;
  clear_on_device(context_, arena_.data(), arena_.bytes());
  losses_.seed(context_, nullptr);
}

void Net::place_weights(Net* weights_of) {
  const auto& weights = plan_.graph.weights;
  memory_->derived = weights_of ? weights_of->memory_->derived : std::make_shared<DerivedWeights>();
  memory_->w.assign(weights.size(), nullptr);
  memory_->dw.assign(weights.size(), nullptr);
  const std::vector<graph::WeightId> theirs = weights_of ? graph::weights_in(weights_of->plan_.graph, plan_.graph)
                                                         : std::vector<graph::WeightId>(weights.size(), -1);
  std::vector<bool> own(weights.size());
  const auto has_own_gradient = [&](size_t id) {
    return plan_.graph.options.backward && weights[id].learns() && plan_.dw_offsets[id] < 0;
  };
  size_t w_bytes = 0, dw_bytes = 0;
  for (size_t id = 0; id < weights.size(); ++id) {
    own[id] = theirs[id] < 0;
    if (own[id])
      w_bytes += whole_lines(plan_.w_formats[id].bytes());
    else
      memory_->w[id] = weights_of->weight(theirs[id]);
    if (has_own_gradient(id)) dw_bytes += whole_lines(plan_.w_formats[id].bytes());
  }
  memory_->w_arena = DeviceMemory(context_, w_bytes);
  memory_->dw_arena = DeviceMemory(context_, dw_bytes);
  std::byte* w = memory_->w_arena.data();
  std::byte* dw = memory_->dw_arena.data();
  for (size_t id = 0; id < weights.size(); ++id) {
    const kernels::WeightFormat& format = plan_.w_formats[id];
    if (own[id]) {
      memory_->w[id] = reinterpret_cast<float*>(w);
      w += whole_lines(format.bytes());
    }
    if (!plan_.graph.options.backward || !weights[id].learns()) continue;
    const bool own_gradient = has_own_gradient(id);
    memory_->dw[id] = reinterpret_cast<float*>(own_gradient ? dw : arena_.data() + plan_.dw_offsets[id]);
    if (own_gradient) dw += whole_lines(format.bytes());
    params_.push_back({graph::WeightId(id), weights[id].layer, weights[id].index, weights[id].spec.shape,
                       memory_->w[id], memory_->dw[id], format.bytes() / int64_t(sizeof(float)), weights[id].lr_mult,
                       weights[id].decay_mult, format});
  }
  fill_weights(own);
  memory_->drawn = std::move(own);
}

/// A weight stored in another layout is drawn into a plain buffer, shared by all of them, and converted.
void Net::fill_weights(const std::vector<bool>& own) {
  const auto in_place = [&](size_t id) { return context_.shares_host_memory() && plan_.w_formats[id].is_plain(); };
  int64_t most = 0;
  for (size_t id = 0; id < own.size(); ++id)
    if (own[id] && !in_place(id)) most = std::max(most, plan_.graph.weights[id].spec.shape.count());
  const Arena aside(size_t(most) * sizeof(float));
  for (size_t id = 0; id < own.size(); ++id) {
    if (!own[id]) continue;
    float* plain = in_place(id) ? memory_->w[id] : reinterpret_cast<float*>(aside.data());
    fill_weight(graph::WeightId(id), plain);
    if (!in_place(id)) plan_.w_formats[id].from_plain(context_, plain, memory_->w[id]);
  }
}

void Net::fill_weight(graph::WeightId id, float* plain) {
  const graph::Weight& weight = plan_.graph.weight(id);
  try {
    fill(context_, weight.spec.filler, weight.spec.shape, mix_key(mix_key(context_.seed, kWeightStream), uint64_t(id)),
         plain);
  } catch (const FieldError& e) {
    throw Error(ExitCode::kNet, graph::layer_mistake(plan_.graph, plan_.graph.node(node_of_weight(id)), e));
  }
}

graph::NodeId Net::node_of_weight(graph::WeightId id) const {
  for (size_t n = 0; n < plan_.graph.nodes.size(); ++n)
    for (const graph::WeightId w : plan_.graph.nodes[n].w)
      if (w == id) return graph::NodeId(n);
  throw_internal("a weight without a node");
}

void Net::bind_rows(const graph::Node& node, Operands& io) {
  const auto shape_of = [&](graph::ValueId id) {
    return plan_.graph.value(id).dynamic_rows ? &current_shapes_[size_t(id)] : nullptr;
  };
  for (const graph::ValueId id : node.x) io.x_rows.push_back(shape_of(id));
  for (const graph::ValueId id : node.y) io.y_rows.push_back(shape_of(id));
}

void Net::bind() {
  for (const graph::Value& value : plan_.graph.values) current_shapes_.push_back(value.shape);
  const auto bind_step = [&](const graph::Step& step) {
    const graph::Node& node = plan_.graph.node(step.node);
    BoundStep bound;
    bound.node = step.node;
    bound.call = step.call;
    bound.layer = node.layer.get();
    for (const graph::Slot& slot : step.x) bound.io.x.push_back(tensor_at(slot));
    for (const graph::Slot& slot : step.y) bound.io.y.push_back(tensor_at(slot));
    for (const graph::Slot& slot : step.dx) bound.io.dx.push_back(tensor_at(slot));
    for (const graph::Slot& slot : step.dy) bound.io.dy.push_back(tensor_at(slot));
    bound.io.more_dy = tensor_at(step.more_dy);
    for (const int64_t offset : step.saved) bound.io.saved.push_back(offset < 0 ? nullptr : arena_.data() + offset);
    if (step.scratch >= 0) bound.io.scratch = arena_.data() + step.scratch;
    bound.io.add_dw = step.add_dw;
    bind_rows(node, bound.io);
    for (size_t k = 0; k < node.w.size(); ++k) {
      const TensorSpec spec{plan_.graph.weight(node.w[k]).spec.shape, DType::kF32, Layout::kPlain};
      const bool wanted = step.call == graph::Call::kBackward && node.wants_dw[k];
      bound.io.w.push_back({spec, context_.device, weight(node.w[k])});
      bound.io.dw.push_back({spec, context_.device, wanted ? weight_gradient(node.w[k]) : nullptr});
    }
    const auto& derived = plan_.needs[size_t(step.node)].derived;
    if (!derived.empty()) bound.derived = memory_->derived->entry(context_, node.name, derived);
    if (bound.derived) bound.io.derived = bound.derived->parts;
    if (step.copy_dy_from >= 0) bound.copy_from = arena_.data() + step.copy_dy_from;
    bound.copy_bytes = size_t(step.copy_dy_bytes);
    return bound;
  };
  for (const graph::Step& step : plan_.forward) forward_.push_back(bind_step(step));
  for (const graph::Step& step : plan_.backward) backward_.push_back(bind_step(step));
}

void Net::bind_completions() {
  std::vector<bool> completed(params_.size(), false);
  for (size_t i = 0; i < backward_.size(); ++i)
    for (const graph::WeightId id : plan_.backward[i].complete)
      for (size_t p = 0; p < params_.size(); ++p) {
        if (params_[p].id != id) continue;
        backward_[i].complete.push_back(p);
        completed[p] = true;
      }
  for (size_t p = 0; p < params_.size(); ++p)
    if (!completed[p]) without_gradient_.push_back(p);
}

void Net::derive_weights() {
  const uint64_t version = memory_->derived->version();
  if (version == derived_version_) return;
  for (BoundStep& step : forward_)
    if (step.derived)
      memory_->derived->refresh(context_, *step.derived,
                                [&] { plan_.needs[size_t(step.node)].derive(context_, step.io); });
  derived_version_ = version;
}

std::vector<KeptWeight> Net::kept_weights() {
  std::vector<KeptWeight> kept;
  for (size_t id = 0; id < plan_.graph.weights.size(); ++id)
    if (!plan_.graph.weights[id].spec.learned)
      kept.push_back({memory_->w[id], plan_.w_formats[id].bytes() / int64_t(sizeof(float))});
  return kept;
}

std::span<std::byte> Net::weight_memory() { return {memory_->w_arena.data(), memory_->w_arena.bytes()}; }

void Net::weights_changed() { memory_->derived->weights_changed(); }

std::span<float> Net::gradient_memory() {
  if (plan_.graph.options.transient_gradients)
    throw_internal("gradients have no memory of their own: the net has transient_gradients");
  return {reinterpret_cast<float*>(memory_->dw_arena.data()), memory_->dw_arena.bytes() / sizeof(float)};
}

std::vector<WeightCopy> Net::weight_copies() const {
  std::vector<WeightCopy> copies;
  if (plan_.graph.options.frozen) return copies;
  for (const BoundStep& step : forward_) {
    if (!step.derived) continue;
    const std::vector<graph::WeightId>& w = plan_.graph.node(step.node).w;
    for (size_t k = 0; k < step.derived->parts.size(); ++k)
      for (size_t p = 0; p < params_.size(); ++p)
        if (params_[p].id == w[k]) copies.push_back({p, step.derived->parts[k], *step.derived->formats[k].as_copy()});
  }
  return copies;
}

void Net::run_forward_step(size_t i) {
  derive_weights();
  if (context_.shares_host_memory()) validate(forward_[i]);
  BoundStep& step = forward_[i];
  run_layer(plan_.graph, step.node, [&] { step.layer->forward(context_, step.io); });
  if (debug_info_) log_tops(i);
}

void Net::run_backward_step(size_t i) {
  // In an observed net these gradients persist, and the observer may have changed them.
  if (i == 0 && (!plan_.graph.options.observed || loss_scale_)) losses_.seed(context_, loss_scale_);
  BoundStep& step = backward_[i];
  if (step.copy_from) copy_on_device(context_, step.io.dy[0].data, step.copy_from, step.copy_bytes);
  if (step.call == graph::Call::kRecompute) return step.layer->recompute(context_, step.io);
  run_layer(plan_.graph, step.node, [&] { step.layer->backward(context_, step.io); });
  if (debug_info_) log_gradients(step);
}

/// stage() runs the leading layers that need the host: in nearly all nets the data layers. They must have no backward,
/// which would need the host again after each forward.
void Net::find_stage() {
  const auto on_host = [&](const BoundStep& step) { return step.layer->roles().needs_host; };
  const auto learns = [&](const BoundStep& step) { return plan_.graph.node(step.node).runs_backward; };
  while (staged_ < forward_.size() && on_host(forward_[staged_]) && !learns(forward_[staged_])) ++staged_;
  stages_all_host_work_ = std::none_of(forward_.begin() + long(staged_), forward_.end(), on_host);
  if (context_.shares_host_memory()) return;
  pass_ = DeviceMemory(context_, sizeof(uint64_t));
}

void Net::begin_pass() {
  derive_weights();
  if (!pass_.data()) return;
  context_.device_pass = reinterpret_cast<uint64_t*>(pass_.data());
  put_on_device(context_, context_.device_pass, context_.pass);
}

void Net::stage() {
  begin_pass();
  for (size_t i = 0; i < staged_; ++i) run_forward_step(i);
}

void Net::forward_staged() {
  for (size_t i = staged_; i < forward_.size(); ++i) run_forward_step(i);
}

void Net::forward() {
  stage();
  forward_staged();
}

void Net::backward(bool accumulate, GradientReader* reader) {
  add_gradients(accumulate);
  for (size_t i = 0; i < backward_.size(); ++i) {
    run_backward_step(i);
    for (const size_t param : backward_[i].complete) complete(param, reader);
  }
  for (const size_t param : without_gradient_) complete(param, reader);
  if (debug_info_) log_norms();
}

void Net::add_gradients(bool on) {
  if (on && !plan_.graph.options.accumulates) throw_internal("the net was not planned to accumulate gradients");
  for (BoundStep& step : backward_) step.io.accumulate = on;
}

void Net::complete(size_t param, GradientReader* reader) {
  if (debug_info_) add_norms(params_[param]);
  if (reader) reader->on_complete(param);
}

double Net::loss() const { return losses_.read(context_); }

float* Net::weight(graph::WeightId id) const { return memory_->w[size_t(id)]; }
float* Net::weight_gradient(graph::WeightId id) const { return memory_->dw[size_t(id)]; }
size_t Net::forward_steps() const { return forward_.size(); }
size_t Net::backward_steps() const { return backward_.size(); }

int64_t Net::memory_bytes() const {
  return plan_.arena_bytes + plan_.weight_bytes() + plan_.derived_bytes() + plan_.gradient_bytes();
}

std::unique_ptr<Net> make_net(std::shared_ptr<const NetFile> file, const graph::BuildOptions& options, Context& context,
                              Net* weights_of) {
  graph::Graph graph = graph::build(std::move(file), graph::options_for(options, context));
  graph::run_passes(graph);
  graph::Plan plan = graph::make_plan(std::move(graph), context, weights_of ? &weights_of->plan() : nullptr);
  return std::make_unique<Net>(std::move(plan), context, weights_of);
}

}  // namespace cortado

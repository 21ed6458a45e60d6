#include "graph/dynamic_rows_layer.h"

#include <algorithm>

#include "core/field_text.h"
#include "core/text/text.h"
#include "layers/roles.h"

namespace cortado::graph {

namespace {

constexpr size_t kMaxInstances = 256;

int64_t scratch_of(const LayerNeeds& needs) { return std::max(needs.forward_scratch, needs.backward_scratch); }

/// Whether both place operands in memory in the same way, as the plan assumes.
bool lie_alike(const LayerNeeds& a, const LayerNeeds& b) {
  return a.aliasing == b.aliasing && a.last_saved_for_y == b.last_saved_for_y &&
         a.backward_reads_x == b.backward_reads_x && a.backward_reads_y == b.backward_reads_y &&
         a.saved.size() == b.saved.size();
}

std::span<float> carried_by(Layer& layer) {
  BatchMemory* memory = layer.roles().memory;
  return memory ? memory->carried() : std::span<float>();
}

}  // namespace

/// Not a sum: the other operand may have other rows.
std::optional<kernels::PostOp> DynamicRowsLayer::as_post_op() const {
  const std::optional<kernels::PostOp> op = most_->as_post_op();
  return op && std::holds_alternative<kernels::SumOfTwo>(*op) ? std::nullopt : op;
}

std::vector<Fusion> DynamicRowsLayer::fusions(const FusionQuery& query) const {
  std::vector<Fusion> list = most_->fusions(query);
  std::erase_if(list, [](const Fusion& one) { return one.kind->operand || one.kind->sums_gradients; });
  return list;
}

LayerNeeds DynamicRowsLayer::prepare(const PrepareRequest& request, Context& context) {
  request_ = request;
  request_.frozen = false;  // weights derived for one shape may not fit another
  needs_ = most_->prepare(request_, context);
  needs_.can_recompute_y = false;
  if (!request_.fixed_weight_formats) {
    request_.fixed_weight_formats = true;
    request_.w_formats = needs_.w_formats;
    for (size_t k = request_.w_formats.size(); k < request_.w.size(); ++k)
      request_.w_formats.emplace_back(request_.w[k].shape);
  }
  return needs_;
}

DynamicRowsLayer::Instance DynamicRowsLayer::make_instance(Context& context, std::vector<Shape> x) {
  Instance instance{std::move(x), {}, make_(), {}};
  try {
    instance.y = instance.layer->infer(instance.x).y;
    PrepareRequest request = request_;
    for (size_t i = 0; i < request.x.size(); ++i) request.x[i].shape = instance.x[i];
    for (size_t i = 0; i < request.y.size(); ++i) request.y[i].shape = instance.y[i];
    const LayerNeeds needs = instance.layer->prepare(request, context);
    if (!lie_alike(needs, needs_)) throw FieldError("", "its memory layout depends on the number of rows");
    if (carried_by(*instance.layer).size() != carried_by(*most_).size())
      throw FieldError("", "the state that it carries from batch to batch depends on the number of rows",
                       "let the rows be its steps, on the first axis");
    if (needs.forward_scratch > needs_.forward_scratch || needs.backward_scratch > needs_.backward_scratch)
      instance.scratch = DeviceMemory(context, size_t(scratch_of(needs)));
    if (notes_classes_) instance.layer->roles().scoring->note_classes(context);
  } catch (const FieldError& e) {
    throw Error(ExitCode::kNet, layer_text(name_) + ", with the number of rows of this batch: " + with_field(e),
                e.hint());
  }
  return instance;
}

DynamicRowsLayer::Instance& DynamicRowsLayer::instance_for(Context& context, const Operands& io) {
  std::vector<Shape> x;
  for (size_t i = 0; i < io.x.size(); ++i) x.push_back(io.x_rows[i] ? *io.x_rows[i] : io.x[i].shape());
  const auto found = std::find_if(instances_.begin(), instances_.end(), [&](const Instance& i) { return i.x == x; });
  if (found != instances_.end()) {
    instances_.splice(instances_.begin(), instances_, found);
  } else {
    instances_.push_front(make_instance(context, std::move(x)));
    if (instances_.size() > kMaxInstances) instances_.pop_back();
  }
  return instances_.front();
}

Operands DynamicRowsLayer::operands_of(const Instance& instance, const Operands& io) const {
  Operands live = io;
  const auto reshape = [](std::vector<Tensor>& tensors, const std::vector<Shape>& shapes) {
    for (size_t i = 0; i < tensors.size(); ++i) tensors[i].spec.shape = shapes[i];
  };
  reshape(live.x, instance.x);
  reshape(live.dx, instance.x);
  reshape(live.y, instance.y);
  reshape(live.dy, instance.y);
  if (instance.scratch.data()) live.scratch = instance.scratch.data();
  return live;
}

/// Calls pass() on the instance, which continues with what the previous one carried.
template <typename Pass>
void DynamicRowsLayer::run(Context& context, Instance& instance, const Pass& pass) {
  const std::span<float> common = carried_by(*most_), own = carried_by(*instance.layer);
  if (common.empty()) return pass();
  copy_on_device(context, own.data(), common.data(), common.size_bytes());
  pass();
  copy_on_device(context, common.data(), own.data(), common.size_bytes());
}

void DynamicRowsLayer::forward(Context& context, const Operands& io) {
  Instance& instance = instance_for(context, io);
  run(context, instance, [&] { instance.layer->forward(context, operands_of(instance, io)); });
  const DynamicRows* rows = instance.layer->roles().rows;
  const bool vary = rows && rows->rows_vary();
  const std::vector<Shape> shapes = vary ? rows->current_shapes() : instance.y;
  for (size_t i = 0; i < io.y.size(); ++i) {
    *io.y_rows[i] = shapes[i];
    const int64_t live = shapes[i].count(), most = io.y[i].count();
    if (!vary && live < most && !needs_.aliasing.view)
      clear_on_device(context, io.y[i].f32() + live, size_t(most - live) * sizeof(float));
  }
}

void DynamicRowsLayer::backward(Context& context, const Operands& io) {
  Instance& instance = instances_.empty() ? instance_for(context, io) : instances_.front();  // no forward ran before
  run(context, instance, [&] { instance.layer->backward(context, operands_of(instance, io)); });
}

void DynamicRowsLayer::validate(Context& context, const Operands& io) {
  const Instance& instance = instance_for(context, io);
  instance.layer->validate(context, operands_of(instance, io));
}

const Scoring* DynamicRowsLayer::scoring() const {
  return instances_.empty() ? nullptr : instances_.front().layer->roles().scoring;
}

Ratio DynamicRowsLayer::quotient(size_t k) const { return scoring() ? scoring()->quotient(k) : Ratio(); }

int64_t DynamicRowsLayer::note_classes(Context& context) {
  Scoring* most = most_->roles().scoring;
  const int64_t classes = most ? most->note_classes(context) : 0;
  notes_classes_ = classes > 0;
  return classes;
}

int64_t DynamicRowsLayer::detection_classes() const {
  const Scoring* most = most_->roles().scoring;
  return most ? most->detection_classes() : 0;
}

PredictedClasses DynamicRowsLayer::predictions() const {
  return scoring() ? scoring()->predictions() : PredictedClasses();
}

}  // namespace cortado::graph

#include <algorithm>

#include "core/error.h"
#include "core/loops/for_each.h"
#include "core/text/text.h"
#include "kernels/scratch.h"
#include "layers/common/recurrent/recurrent.h"
#include "layers/common/weights/filler.h"

namespace cortado {

namespace {

/// to = factor of the lane * from.
struct RecurrentTimesLane {
  const float *from, *factors;
  float* to;
  CORTADO_HD void operator()(int64_t i, int64_t lane) const { to[i] = factors[lane] * from[i]; }
};

/// Adds the same row to each row.
struct AddRow {
  float* rows;
  const float* row;
  int64_t width;
  CORTADO_HD void operator()(int64_t i, int64_t t) const { rows[i] += row[i - t * width]; }
};

struct SetTo {
  float* values;
  float value;
  CORTADO_HD void operator()(int64_t i) const { values[i] = value; }
};

/// 0 in the first step, then 1.
struct BeginOnce {
  float* cont;
  int64_t lanes;
  CORTADO_HD void operator()(int64_t i) const { cont[i] = i < lanes ? 0 : 1; }
};

/// The sum over time of T rows.
struct SumOverTime {
  const float* rows;
  float* sum;
  int64_t steps, width;
  CORTADO_HD void operator()(int64_t i) const {
    float total = 0;
    for (int64_t t = 0; t < steps; ++t) total += rows[t * width + i];
    sum[i] = total;
  }
};

float* floats_at(void* scratch, int64_t offset) { return static_cast<float*>(kernels::scratch_part(scratch, offset)); }

}  // namespace

RecurrentLayer::RecurrentLayer(const LayerOptions& options, const caffe::RecurrentParameter& param,
                               const std::string& field, int gates, bool cells)
    : options_(param),
      field_(field),
      units_(options_.num_output()),
      gates_(gates),
      cells_(cells),
      tops_(size_t(options.config.top_size())) {
  if (units_ == 0)
    throw FieldError(options_.has_num_output() ? field_ + ".num_output" : field_,
                     options_.has_num_output() ? "num_output is 0" : "num_output is missing",
                     "set the number of units");
  if (units_ > INT32_MAX) throw FieldError(field_ + ".num_output", std::to_string(units_) + " is too large");
}

void RecurrentLayer::check_counts(size_t bottoms) {
  const size_t exposed = options_.expose_hidden() ? size_t(states()) : 0;
  const std::string why = exposed ? "with expose_hidden the layer needs" : "without expose_hidden the layer needs";
  if (bottoms != 2 + exposed && bottoms != 3 + exposed)
    throw FieldError("bottom",
                     why + " " + std::to_string(2 + exposed) + " bottoms, or " + std::to_string(3 + exposed) +
                         " with a static input, not " + std::to_string(bottoms),
                     "the bottoms are x, cont, the static input, and the exposed state");
  if (tops_ != 1 + exposed)
    throw FieldError("top",
                     why + " " + count_of(int64_t(1 + exposed), "top", "tops") + ", not " + std::to_string(tops_),
                     "the tops are the output and the exposed state");
  static_ = bottoms == 3 + exposed;
}

void RecurrentLayer::check_shapes(const std::vector<Shape>& x) const {
  if (x[0].axes() < 2 || x[0][0] == 0 || x[0][1] == 0)
    throw FieldError("bottom[0]", "its shape is " + x[0].str() + ", but must be steps x sequences x values");
  if (x[1] != Shape{x[0][0], x[0][1]})
    throw FieldError("bottom[1]",
                     "its shape is " + x[1].str() + ", but there are " + std::to_string(x[0][0]) + " steps of " +
                         count_of(x[0][1], "sequence", "sequences"),
                     "cont must be " + Shape{x[0][0], x[0][1]}.str() + ": 0 at the start of a sequence, else 1");
  if (static_ && (x[2].axes() < 1 || x[2][0] != x[0][1]))
    throw FieldError("bottom[2]",
                     "its shape is " + x[2].str() + ", but there are " + count_of(x[0][1], "sequence", "sequences"),
                     "the first axis of the static input must be the number of sequences");
  const Shape state = {1, x[0][1], units_};
  for (size_t i = first_state(); i < x.size(); ++i)
    if (x[i] != state)
      throw FieldError(entry("bottom", int64_t(i)), "its shape is " + x[i].str() + ", but the state is " + state.str());
}

void RecurrentLayer::add_weight(LayerShapes& shapes, const Shape& shape, bool bias) const {
  const auto& filler = bias ? options_.bias_filler() : options_.weight_filler();
  check_filler(filler, shape, field_ + (bias ? ".bias_filler" : ".weight_filler"));
  shapes.w.push_back({.shape = shape, .filler = filler});
}

void RecurrentLayer::measure(const std::vector<Shape>& x) {
  check_counts(x.size());
  check_shapes(x);
  steps_ = x[0][0], lanes_ = x[0][1], inputs_ = x[0].count(2);
}

LayerShapes RecurrentLayer::infer(const std::vector<Shape>& x) {
  measure(x);
  has_cont_ = x.size() > 1;
  static_inputs_ = static_ ? x[2].count(1) : 0;
  if (static_) weights_.h = weights_.fixed + 1;
  LayerShapes shapes;
  shapes.y = {output_shape(x)};
  shapes.y.resize(tops_, Shape{1, lanes_, units_});
  const size_t count = std::max(weights_.h, weights_.bias) + 1;
  for (size_t k = 0; k < count; ++k) {
    if (k == weights_.bias)
      add_weight(shapes, {gate_width()}, true);
    else
      add_weight(shapes, {gate_width(), k == weights_.x ? inputs_ : k == weights_.h ? units_ : static_inputs_}, false);
  }
  first_output_weight_ = count;
  add_output_weights(shapes);
  return shapes;
}

std::unique_ptr<kernels::InnerProduct> RecurrentLayer::plan_product(int64_t rows, int64_t inputs, int64_t outputs,
                                                                    size_t w, std::optional<size_t> bias,
                                                                    const PrepareRequest& request,
                                                                    Context& context) const {
  kernels::InnerProductRequest product{.rows = rows, .inputs = inputs, .outputs = outputs, .bias = bias.has_value()};
  product.backward_data = product.backward_weights = request.backward;
  product.adds = request.adds_dw || !request.wants_dw[w] || (bias && !request.wants_dw[*bias]);
  if (request.fixed_weight_formats) product.w_format = request.w_formats[w];
  return kernels::plan_inner_product(product, context);
}

std::unique_ptr<kernels::InnerProduct> RecurrentLayer::plan_step_product(const PrepareRequest& request, size_t w,
                                                                         Context& context) const {
  kernels::InnerProductRequest product{.rows = lanes_, .inputs = units_, .outputs = gate_width()};
  product.backward_data = product.turns = request.backward;
  if (request.fixed_weight_formats) product.w_format = request.w_formats[w];
  return kernels::plan_inner_product(product, context);
}

/// The gradient of W_h is one product over all steps; its storage is the same in each step.
void RecurrentLayer::plan_kernels(const PrepareRequest& request, Context& context, LayerNeeds& needs) {
  const int64_t rows = steps_ * lanes_;
  x_product_ = plan_product(rows, inputs_, gate_width(), weights_.x, weights_.bias, request, context);
  if (static_)
    s_product_ = plan_product(lanes_, static_inputs_, gate_width(), weights_.fixed, std::nullopt, request, context);
  h_product_ = plan_step_product(request, weights_.h, context);
  PrepareRequest all = request;
  all.fixed_weight_formats = true;
  all.w_formats.resize(request.w.size());
  all.w_formats[weights_.h] = h_product_->weight_format();
  h_gradient_ = plan_product(rows, units_, gate_width(), weights_.h, std::nullopt, all, context);
  needs.w_formats.resize(first_output_weight_);
  needs.w_formats[weights_.x] = x_product_->weight_format();
  needs.w_formats[weights_.bias] = kernels::WeightFormat(Shape{gate_width()});
  if (static_) needs.w_formats[weights_.fixed] = s_product_->weight_format();
  needs.w_formats[weights_.h] = h_product_->weight_format();
  for (const kernels::InnerProduct* product :
       {x_product_.get(), s_product_.get(), h_product_.get(), h_gradient_.get()}) {
    if (!product) continue;
    needs.forward_scratch = std::max(needs.forward_scratch, product->forward_scratch());
    needs.backward_scratch = std::max(needs.backward_scratch, product->backward_scratch());
  }
  needs.algorithm = x_product_->name();
}

/// Scratch: that of the products first, then ours.
void RecurrentLayer::lay_out(const PrepareRequest& request, LayerNeeds& needs) {
  const int64_t lanes = lanes_ * gate_width() * kFloatBytes, all = steps_ * lanes, state = state_bytes();
  kernels::ScratchLayout forward, backward;
  const int64_t forward_sizes[] = {needs.forward_scratch, lanes, static_ ? lanes : 0};
  for (int i = 0; i < 3; ++i) forward_parts_[i] = forward.add(forward_sizes[i]);
  needs.forward_scratch = forward.bytes();
  needs.saved = {all, (steps_ + 1) * state};
  if (cells_) needs.saved.push_back((steps_ + 1) * state);
  if (!request.backward) return;
  const int64_t backward_sizes[] = {needs.backward_scratch,
                                    all,
                                    has_output() ? steps_ * state : 0,
                                    state,
                                    state,
                                    static_ ? lanes : 0,
                                    state,
                                    lanes_ * kFloatBytes,
                                    h_product_->turned_bytes()};
  for (int i = 0; i < 9; ++i) backward_parts_[i] = backward.add(backward_sizes[i]);
  needs.backward_scratch = backward.bytes();
}

LayerNeeds RecurrentLayer::prepare(const PrepareRequest& request, Context& context) {
  if (!options_.expose_hidden()) state_ = DeviceMemory(context, size_t(states() * state_bytes()));
  if (!has_cont_) {
    cont_ = DeviceMemory(context, size_t(steps_ * lanes_ * kFloatBytes));
    for_each(context, steps_ * lanes_, BeginOnce{reinterpret_cast<float*>(cont_.data()), lanes_});
  }
  LayerNeeds needs;
  plan_kernels(request, context, needs);
  needs.backward_reads_x.assign(request.x.size(), false);
  needs.backward_reads_x[0] = request.backward && (request.wants_dw[weights_.x] || request.wants_dw[weights_.bias]);
  if (has_cont_) needs.backward_reads_x[1] = true;
  if (static_) needs.backward_reads_x[2] = request.backward && request.wants_dw[2];
  prepare_output(request, context, needs);
  lay_out(request, needs);
  return needs;
}

/// Without a cont the sequences restart in every pass, so no state is kept.
std::span<float> RecurrentLayer::carried() {
  if (!has_cont_) return {};
  return {reinterpret_cast<float*>(state_.data()), state_.bytes() / sizeof(float)};
}

const float* RecurrentLayer::cont(const Operands& io) const {
  return has_cont_ ? io.x[1].f32() : reinterpret_cast<const float*>(cont_.data());
}

const float* RecurrentLayer::state_in(const Operands& io, int which) const {
  if (options_.expose_hidden()) return io.x[first_state() + size_t(which)].f32();
  return reinterpret_cast<const float*>(state_.data()) + which * lanes_ * units_;
}

float* RecurrentLayer::state_out(const Operands& io, int which) const {
  if (options_.expose_hidden()) return io.y[1 + size_t(which)].f32();
  return reinterpret_cast<float*>(state_.data()) + which * lanes_ * units_;
}

/// The state before the first step. Copied, so that backward still finds it after the state has advanced.
void RecurrentLayer::begin(Context& context, const Operands& io) {
  const ChannelView lanes{1, lanes_, units_, Layout::kPlain};
  for_each_channel(context, lanes, RecurrentTimesLane{state_in(io, 0), cont(io), static_cast<float*>(io.saved[1])});
  if (cells_) copy_on_device(context, io.saved[2], state_in(io, 1), size_t(state_bytes()));
}

/// a += W_s s in each step.
void RecurrentLayer::add_static(Context& context, const Operands& io, float* a) {
  float* from_s = floats_at(io.scratch, forward_parts_[2]);
  void* products = kernels::scratch_part(io.scratch, forward_parts_[0]);
  s_product_->forward(context, io.x[2].data, io.w[weights_.fixed].f32(), nullptr, from_s, products);
  const int64_t width = lanes_ * gate_width();
  for_each_channel(context, {1, steps_, width, Layout::kPlain}, AddRow{a, from_s, width});
}

void RecurrentLayer::forward(Context& context, const Operands& io) {
  float *a = static_cast<float*>(io.saved[0]), *h = hidden(io), *seen = static_cast<float*>(io.saved[1]);
  float* c = cells_ ? static_cast<float*>(io.saved[2]) : nullptr;
  void* products = kernels::scratch_part(io.scratch, forward_parts_[0]);
  float* from_h = floats_at(io.scratch, forward_parts_[1]);
  x_product_->forward(context, io.x[0].data, io.w[weights_.x].f32(), io.w[weights_.bias].f32(), a, products);
  if (static_) add_static(context, io, a);
  begin(context, io);
  const float* w_h = io.w[weights_.h].f32();
  const int64_t state = lanes_ * units_, width = lanes_ * gate_width();
  for (int64_t t = 0; t < steps_; ++t) {
    const float* cont = this->cont(io) + t * lanes_;
    h_product_->forward(context, seen + t * state, w_h, nullptr, from_h, products);
    step(context, {.a = a + t * width,
                   .from_h = from_h,
                   .cont = cont,
                   .h = h + t * state,
                   .c = c ? c + t * state : nullptr,
                   .c_next = c ? c + (t + 1) * state : nullptr,
                   .cont_next = t + 1 == steps_ ? cont : cont + lanes_,
                   .h_next = seen + (t + 1) * state});
  }
  if (has_cont_) {
    copy_on_device(context, state_out(io, 0), h + (steps_ - 1) * state, size_t(state_bytes()));
    if (c) copy_on_device(context, state_out(io, 1), c + steps_ * state, size_t(state_bytes()));
  }
  forward_output(context, io);
}

void RecurrentLayer::backward(Context& context, const Operands& io) {
  const auto part = [&](int i) { return floats_at(io.scratch, backward_parts_[i]); };
  const Backward m{part(1), part(2), part(3), part(4), part(5), part(6), part(7), part(8), part(0)};
  clear_on_device(context, m.none, size_t(state_bytes()));
  for_each(context, lanes_, SetTo{m.ones, 1});
  if (has_output()) backward_output(context, io, m.dh);
  backward_steps(context, io, m);
  backward_states(context, io, m);
  backward_weights(context, io, m);
  if (static_) backward_static(context, io, m);
}

void RecurrentLayer::backward_steps(Context& context, const Operands& io, const Backward& m) {
  const float* a = static_cast<const float*>(io.saved[0]);
  const float* c = cells_ ? static_cast<const float*>(io.saved[2]) : nullptr;
  const float* dh = has_output() ? m.dh : io.dy[0].f32();
  const float* w_h = h_product_->turn(context, io.w[weights_.h].f32(), m.turned, m.products);
  const auto of_state = [&](size_t y) {
    return options_.expose_hidden() && y < io.dy.size() && io.dy[y] ? io.dy[y].f32() : m.none;
  };
  const int64_t state = lanes_ * units_, width = lanes_ * gate_width();
  for (int64_t t = steps_ - 1; t >= 0; --t) {
    const bool last = t + 1 == steps_;
    const float* cont = this->cont(io) + t * lanes_;
    step_back(context, {.a = a + t * width,
                        .cont = cont,
                        .c = c ? c + t * state : nullptr,
                        .c_next = c ? c + (t + 1) * state : nullptr,
                        .dh = dh ? dh + t * state : m.none,
                        .dh_next = last ? of_state(1) : m.dh_next,
                        .cont_next = last ? m.ones : cont + lanes_,
                        .dc_next = last ? of_state(2) : m.dc,
                        .dc = m.dc,
                        .da = m.da + t * width});
    h_product_->backward_data(context, m.da + t * width, w_h, m.dh_next, m.products);
  }
}

void RecurrentLayer::backward_states(Context& context, const Operands& io, const Backward& m) {
  if (!options_.expose_hidden()) return;
  const ChannelView lanes{1, lanes_, units_, Layout::kPlain};
  const Tensor& dh = io.dx[first_state()];
  if (dh) for_each_channel(context, lanes, RecurrentTimesLane{m.dh_next, cont(io), dh.f32()});
  if (cells_ && io.dx[first_state() + 1])
    copy_on_device(context, io.dx[first_state() + 1].data, m.dc, size_t(state_bytes()));
}

void RecurrentLayer::backward_weights(Context& context, const Operands& io, const Backward& m) {
  const size_t x = weights_.x, bias = weights_.bias, h = weights_.h;
  const kernels::WeightGradients d{io.dw[x].f32(), io.dw[bias].f32(), io.adds(x), io.adds(bias)};
  if (d.w || d.bias) x_product_->backward_weights(context, io.x[0].data, m.da, d, m.products);
  if (io.dx[0]) x_product_->backward_data(context, m.da, io.w[x].f32(), io.dx[0].data, m.products);
  if (io.dw[h])
    h_gradient_->backward_weights(context, io.saved[1], m.da, {.w = io.dw[h].f32(), .add_w = io.adds(h)}, m.products);
}

void RecurrentLayer::backward_static(Context& context, const Operands& io, const Backward& m) {
  const size_t w = weights_.fixed;
  if (!io.dw[w] && !io.dx[2]) return;
  const int64_t width = lanes_ * gate_width();
  for_each(context, width, SumOverTime{m.da, m.da_sum, steps_, width});
  if (io.dw[w])
    s_product_->backward_weights(context, io.x[2].data, m.da_sum, {.w = io.dw[w].f32(), .add_w = io.adds(w)},
                                 m.products);
  if (io.dx[2]) s_product_->backward_data(context, m.da_sum, io.w[w].f32(), io.dx[2].data, m.products);
}

int64_t RecurrentLayer::flops(const std::vector<Shape>&, const std::vector<Shape>&) const {
  const int64_t of_step = 2 * lanes_ * gate_width() * (inputs_ + units_) + 10 * lanes_ * gate_width();
  return steps_ * of_step + 2 * lanes_ * gate_width() * static_inputs_;
}

}  // namespace cortado

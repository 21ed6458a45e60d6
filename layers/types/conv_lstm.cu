// ConvLSTM (Shi et al. 2015), as in agethen's Caffe: an LSTM whose states are images. x is T x N x C x H x W, cont T x
// N, as in LSTM. With * for convolutions, o for element-wise products, h and c of the previous step times cont:
//     i = sigmoid(W_xi * x + W_hi * h + w_ci o c + b_i),   f alike
//     c' = f o c + i o tanh(W_xg * x + W_hg * h + b_g)
//     o = sigmoid(W_xo * x + W_ho * h + w_co o c' + b_o),   y = h' = o o tanh(c')
// The convolution of x is one over all steps, that of h one for each step. recurrent_param.expose_hidden makes h and c
// bottoms and tops (1 x N x K x H x W); else they carry over from pass to pass, as in LSTM.
//
// Weights: W_x (of 4 K channels: i, f, o, g), b, W_h, w_ci, w_cf, w_co. A peephole weight has num_axes_hadamard axes of
// the state from axis_hadamard on, and starts as 0; disable_hadamard disables them. The equations are the paper's, the
// options agethen's. The publication specifies neither the order of weights and gates, nor the peepholes' initial
// values, nor whether cont applies to them. So weights of that layer may be incompatible.

#include <algorithm>

#include "core/device/device_memory.h"
#include "core/loops/fast_math.h"
#include "core/loops/for_each.h"
#include "kernels/scratch.h"
#include "layers/common/recurrent/conv_lstm_form.h"
#include "layers/registry.h"
#include "layers/roles.h"

namespace cortado {

namespace {

struct ConvLstmTimesLane {
  const float *from, *factors;
  float* to;
  CORTADO_HD void operator()(int64_t i, int64_t lane) const {
    to[i] = factors[lane] == 0 ? 0 : factors[lane] * from[i];
  }
};

/// The weights of the three peepholes; null: none.
struct Peepholes {
  const float *in, *forget, *out;
  int64_t size, inner;
  CORTADO_HD float of(const float* w, int64_t unit, float c) const { return w ? w[unit / inner % size] * c : 0; }
};

/// One step of element i of lane n. The gates of a lane are `units` apart.
struct ConvLstmUnit {
  Peepholes peep;
  int64_t units;
  float* a;             ///< in: the sums of x; out: the gates after their nonlinearities
  const float* from_h;  ///< the sums of h
  const float* cont_next;
  const float* c;                       ///< times cont
  float *c_next, *h, *h_next, *c_seen;  ///< c_seen: c_next times cont_next

  CORTADO_HD void operator()(int64_t i, int64_t n) const {
    const int64_t at = i + 3 * n * units, unit = i - n * units;
    const auto sum = [&](int64_t gate) { return a[at + gate * units] + from_h[at + gate * units]; };
    const float in = fast_sigmoid(sum(0) + peep.of(peep.in, unit, c[i]));
    const float forget = fast_sigmoid(sum(1) + peep.of(peep.forget, unit, c[i]));
    const float candidate = fast_tanh(sum(3)), next = forget * c[i] + in * candidate;
    const float out = fast_sigmoid(sum(2) + peep.of(peep.out, unit, next));
    a[at] = in, a[at + units] = forget, a[at + 2 * units] = out, a[at + 3 * units] = candidate;
    c_next[i] = next;
    h[i] = out * fast_tanh(next);
    if (h_next) h_next[i] = cont_next[n] == 0 ? 0 : cont_next[n] * h[i];
    if (c_seen) c_seen[i] = cont_next[n] == 0 ? 0 : cont_next[n] * next;
  }
};

struct ConvLstmUnitBack {
  Peepholes peep;
  int64_t units;
  const float *a, *c, *c_next;
  const float* dy;         ///< null: none
  const float *dh, *dc;    ///< of h_next and of c_seen, which cont_next multiplies; null: 0
  const float* cont_next;  ///< null: 1
  float *da, *dc_before;

  CORTADO_HD void operator()(int64_t i, int64_t n) const {
    const int64_t at = i + 3 * n * units, unit = i - n * units;
    const float in = a[at], forget = a[at + units], out = a[at + 2 * units], candidate = a[at + 3 * units];
    const float kept = cont_next ? cont_next[n] : 1, tanh_c = fast_tanh(c_next[i]);
    const float d_h = (dy ? dy[i] : 0) + (dh ? kept * dh[i] : 0);
    const float d_out = d_h * tanh_c * out * (1 - out);
    const float d = (dc ? kept * dc[i] : 0) + d_h * out * (1 - tanh_c * tanh_c) + peep.of(peep.out, unit, d_out);
    const float d_in = d * candidate * in * (1 - in), d_forget = d * c[i] * forget * (1 - forget);
    da[at] = d_in, da[at + units] = d_forget, da[at + 2 * units] = d_out;
    da[at + 3 * units] = d * in * (1 - candidate * candidate);
    dc_before[i] = d * forget + peep.of(peep.in, unit, d_in) + peep.of(peep.forget, unit, d_forget);
  }
};

/// For reduce_rows: the gradient of value k of a peephole weight, over all steps, lanes and units that share it.
struct PeepholeGradient {
  const float *da, *c;  ///< of a gate, and its input cells; T x N x 4 units, T x N x units
  int64_t units, size, inner;
  CORTADO_HD float operator()(int64_t k, int64_t i) const {
    const int64_t sharing = units / size, lane = i / sharing, rest = i - lane * sharing;
    const int64_t unit = (rest / inner * size + k) * inner + rest % inner;
    return da[lane * 4 * units + unit] * c[lane * units + unit];
  }
};

class ConvLstmLayer : public Layer, public BatchMemory {
 public:
  explicit ConvLstmLayer(const LayerOptions& options) : form_(options.config) {}

  LayerShapes infer(const std::vector<Shape>& x) override { return form_.infer(x); }
  bool differentiable(int i) const override { return i != 1; }
  bool is_stateful() const override { return !form_.exposes(); }
  std::span<float> carried() override {
    return {reinterpret_cast<float*>(between_.data()), between_.bytes() / sizeof(float)};
  }
  LayerRoles roles() override { return {.memory = this}; }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;
  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>&) const override {
    return 2 * form_.of_x().macs() + 2 * form_.of_state(form_.steps()).macs() + 20 * form_.steps() * state();
  }

 private:
  using Form = ConvLstmForm;

  /// T x N x 4 units; then h and c as inputs of each step, and c as its output, T x N x units each.
  struct Kept {
    float *a, *h_seen, *c_seen, *c_next;
  };
  struct Scratch {
    float *from_h, *da, *dh, *dc;
    void* kernels;
  };

  int64_t state() const { return form_.lanes() * form_.units(); }
  ChannelView lanes() const { return {1, form_.lanes(), form_.units(), Layout::kPlain}; }
  void plan(const PrepareRequest& request, Context& context);
  Kept kept(const Operands& io) const;
  Scratch scratch(void* memory, bool backward, int64_t* bytes) const;
  Peepholes peepholes(const Operands& io) const;
  const float* state_in(const Operands& io, int which) const;
  float* state_out(const Operands& io, int which) const;
  void backward_steps(Context& context, const Operands& io, const Scratch& m);
  void backward_weights(Context& context, const Operands& io, const Scratch& m);

  Form form_;
  std::unique_ptr<kernels::Conv> of_x_, of_h_, of_all_h_;  ///< of_all_h_: for the gradient of W_h
  DeviceMemory between_;                                   ///< h and c between passes
};

void ConvLstmLayer::plan(const PrepareRequest& request, Context& context) {
  const size_t x = form_.weight(Form::kX), h = form_.weight(Form::kH);
  const bool wants_bias = form_.has_bias() && request.wants_dw[form_.weight(Form::kBias)];
  kernels::ConvRequest conv{.shape = form_.of_x(), .bias = form_.has_bias()};
  conv.backward_data = request.backward && request.wants_dx[0];
  conv.backward_weights = request.backward && (request.wants_dw[x] || wants_bias);
  conv.adds = request.adds_dw || !request.wants_dw[x] || (form_.has_bias() && !wants_bias);
  if (request.fixed_weight_formats) conv.w_format = request.w_formats[x];
  of_x_ = kernels::plan_conv(conv, context);
  conv = {.shape = form_.of_state(1)};
  conv.backward_data = request.backward;
  if (request.fixed_weight_formats) conv.w_format = request.w_formats[h];
  of_h_ = kernels::plan_conv(conv, context);
  of_all_h_.reset();
  if (!request.backward || !request.wants_dw[h]) return;
  conv = {.shape = form_.of_state(form_.steps())};
  conv.backward_weights = true;
  conv.adds = request.adds_dw;
  conv.w_format = of_h_->weight_format();
  of_all_h_ = kernels::plan_conv(conv, context);
}

LayerNeeds ConvLstmLayer::prepare(const PrepareRequest& request, Context& context) {
  plan(request, context);
  if (!form_.exposes()) between_ = DeviceMemory(context, size_t(2 * state() * kFloatBytes));
  LayerNeeds needs;
  for (const TensorSpec& w : request.w) needs.w_formats.emplace_back(w.shape);
  needs.w_formats[form_.weight(Form::kX)] = of_x_->weight_format();
  needs.w_formats[form_.weight(Form::kH)] = of_h_->weight_format();
  needs.backward_reads_x.assign(request.x.size(), false);
  needs.backward_reads_x[0] = needs.backward_reads_x[1] = true;
  needs.saved = {form_.steps() * 7 * state() * kFloatBytes};
  scratch(nullptr, false, &needs.forward_scratch);
  if (request.backward) scratch(nullptr, true, &needs.backward_scratch);
  needs.algorithm = of_x_->name();
  return needs;
}

ConvLstmLayer::Kept ConvLstmLayer::kept(const Operands& io) const {
  float* a = static_cast<float*>(io.saved[0]);
  const int64_t all = form_.steps() * state();
  return {a, a + 4 * all, a + 5 * all, a + 6 * all};
}

/// The parts of scratch; if `bytes` is not null, sets their size instead.
ConvLstmLayer::Scratch ConvLstmLayer::scratch(void* memory, bool backward, int64_t* bytes) const {
  kernels::ScratchLayout layout;
  const auto floats = [&](int64_t count) {
    const int64_t at = layout.add(count * kFloatBytes);
    return memory ? static_cast<float*>(kernels::scratch_part(memory, at)) : nullptr;
  };
  int64_t of_kernels = std::max(of_x_->forward_scratch(), of_h_->forward_scratch());
  if (backward) of_kernels = std::max(of_x_->backward_scratch(), of_h_->backward_scratch());
  if (backward && of_all_h_) of_kernels = std::max(of_kernels, of_all_h_->backward_scratch());
  Scratch m{};
  m.from_h = floats(backward ? 0 : 4 * state());
  m.da = floats(backward ? 4 * form_.steps() * state() : 0);
  m.dh = floats(backward ? state() : 0), m.dc = floats(backward ? state() : 0);
  m.kernels = floats((of_kernels + kFloatBytes - 1) / kFloatBytes);
  if (bytes) *bytes = layout.bytes();
  return m;
}

Peepholes ConvLstmLayer::peepholes(const Operands& io) const {
  if (!form_.has_peepholes()) return {nullptr, nullptr, nullptr, 1, 1};
  const auto w = [&](Form::Weight which) { return io.w[form_.weight(which)].f32(); };
  return {w(Form::kPeepIn), w(Form::kPeepForget), w(Form::kPeepOut), form_.peep_size(), form_.peep_inner()};
}

const float* ConvLstmLayer::state_in(const Operands& io, int which) const {
  if (form_.exposes()) return io.x[size_t(2 + which)].f32();
  return reinterpret_cast<const float*>(between_.data()) + which * state();
}

float* ConvLstmLayer::state_out(const Operands& io, int which) const {
  if (form_.exposes()) return io.y[size_t(1 + which)].f32();
  return reinterpret_cast<float*>(between_.data()) + which * state();
}

void ConvLstmLayer::forward(Context& context, const Operands& io) {
  const Scratch m = scratch(io.scratch, false, nullptr);
  const Kept k = kept(io);
  const float *cont = io.x[1].f32(), *bias = form_.has_bias() ? io.w[form_.weight(Form::kBias)].f32() : nullptr;
  const int64_t n = state(), last = form_.steps() - 1;
  of_x_->forward(context, {.x = io.x[0].data, .w = io.w[form_.weight(Form::kX)].data, .bias = bias, .y = k.a},
                 m.kernels);
  for_each_channel(context, lanes(), ConvLstmTimesLane{state_in(io, 0), cont, k.h_seen});
  for_each_channel(context, lanes(), ConvLstmTimesLane{state_in(io, 1), cont, k.c_seen});
  for (int64_t t = 0; t <= last; ++t) {
    of_h_->forward(context, {.x = k.h_seen + t * n, .w = io.w[form_.weight(Form::kH)].data, .y = m.from_h}, m.kernels);
    for_each_channel(context, lanes(),
                     ConvLstmUnit{peepholes(io), form_.units(), k.a + 4 * t * n, m.from_h,
                                  t < last ? cont + (t + 1) * form_.lanes() : nullptr, k.c_seen + t * n,
                                  k.c_next + t * n, io.y[0].f32() + t * n, t < last ? k.h_seen + (t + 1) * n : nullptr,
                                  t < last ? k.c_seen + (t + 1) * n : nullptr});
  }
  copy_on_device(context, state_out(io, 0), io.y[0].f32() + last * n, size_t(n * kFloatBytes));
  copy_on_device(context, state_out(io, 1), k.c_next + last * n, size_t(n * kFloatBytes));
}

void ConvLstmLayer::backward_steps(Context& context, const Operands& io, const Scratch& m) {
  const Kept k = kept(io);
  const int64_t n = state(), last = form_.steps() - 1;
  const auto exposed = [&](size_t y) { return form_.exposes() && io.dy[y] ? io.dy[y].f32() : nullptr; };
  for (int64_t t = last; t >= 0; --t) {
    const bool ends = t == last;
    for_each_channel(
        context, lanes(),
        ConvLstmUnitBack{peepholes(io), form_.units(), k.a + 4 * t * n, k.c_seen + t * n, k.c_next + t * n,
                         io.dy[0] ? io.dy[0].f32() + t * n : nullptr, ends ? exposed(1) : m.dh,
                         ends ? exposed(2) : m.dc, ends ? nullptr : io.x[1].f32() + (t + 1) * form_.lanes(),
                         m.da + 4 * t * n, m.dc});
    of_h_->backward_data(context, {.dy = m.da + 4 * t * n, .w = io.w[form_.weight(Form::kH)].data, .dx = m.dh},
                         m.kernels);
  }
}

void ConvLstmLayer::backward_weights(Context& context, const Operands& io, const Scratch& m) {
  const Kept k = kept(io);
  const size_t x = form_.weight(Form::kX), bias = form_.weight(Form::kBias), h = form_.weight(Form::kH);
  kernels::WeightGradients d{.w = io.dw[x].f32(), .add_w = io.adds(x)};
  if (form_.has_bias()) d.bias = io.dw[bias].f32(), d.add_bias = io.adds(bias);
  if (d.w || d.bias) of_x_->backward_weights(context, {.x = io.x[0].data, .dy = m.da, .d = d}, m.kernels);
  if (io.dw[h])
    of_all_h_->backward_weights(context, {.x = k.h_seen, .dy = m.da, .d = {.w = io.dw[h].f32(), .add_w = io.adds(h)}},
                                m.kernels);
  if (!form_.has_peepholes()) return;
  const int64_t size = form_.peep_size(), units = form_.units();
  const std::pair<Form::Weight, const float*> seen[] = {
      {Form::kPeepIn, k.c_seen}, {Form::kPeepForget, k.c_seen}, {Form::kPeepOut, k.c_next}};
  for (const auto& [which, cells] : seen) {
    const size_t w = form_.weight(which);
    if (!io.dw[w]) continue;
    const PeepholeGradient gradient{m.da + (which - Form::kPeepIn) * units, cells, units, size, form_.peep_inner()};
    reduce_rows(context, size, form_.steps() * state() / size, gradient, io.dw[w].f32(), io.adds(w));
  }
}

void ConvLstmLayer::backward(Context& context, const Operands& io) {
  const Scratch m = scratch(io.scratch, true, nullptr);
  backward_steps(context, io, m);
  backward_weights(context, io, m);
  if (io.dx[0])
    of_x_->backward_data(context, {.dy = m.da, .w = io.w[form_.weight(Form::kX)].data, .dx = io.dx[0].data}, m.kernels);
  if (!form_.exposes()) return;
  const std::pair<const Tensor&, const float*> states[] = {{io.dx[2], m.dh}, {io.dx[3], m.dc}};
  for (const auto& [dx, from] : states)
    if (dx) for_each_channel(context, lanes(), ConvLstmTimesLane{from, io.x[1].f32(), dx.f32()});
}

const RegisterLayer register_conv_lstm({
    .name = "ConvLSTM",
    .help = "long short-term memory over whole sequences of images",
    .options = "lstm_conv_param",
    .min_bottoms = 2,
    .max_bottoms = 4,
    .min_tops = 1,
    .max_tops = 3,
    .make = make_layer<ConvLstmLayer>,
    .family = LayerFamily::kConvolution,
});

}  // namespace

}  // namespace cortado

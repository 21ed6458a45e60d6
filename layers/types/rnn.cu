// RNN: a recurrent layer (recurrent.h) with h[t] = tanh(a[t]) and y[t] = tanh(W_o h[t] + b_o), which is one product
// over all steps. Weights: W_x, b, W_s with a static input, W_h, W_o, b_o.

#include <algorithm>

#include "core/loops/fast_math.h"
#include "kernels/scratch.h"
#include "layers/common/loops/typed.h"
#include "layers/common/recurrent/recurrent.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct RnnUnit {
  RecurrentStep s;
  CORTADO_HD void operator()(int64_t i, int64_t n) const {
    const float h = fast_tanh(s.a[i] + s.from_h[i]);
    s.h[i] = h;
    s.h_next[i] = s.cont_next[n] * h;
  }
};

struct RnnUnitBack {
  RecurrentStepBack s;
  CORTADO_HD void operator()(int64_t i, int64_t n) const {
    const float h = s.a[i], dh = s.dh[i] + s.cont_next[n] * s.dh_next[i];
    s.da[i] = dh * (1 - h * h);
  }
};

struct RnnTanh {
  float* y;
  CORTADO_HD void operator()(int64_t i) const { y[i] = fast_tanh(y[i]); }
};

/// dy is null if it does not arrive.
struct TanhBack {
  const float *y, *dy;
  float* dz;
  CORTADO_HD void operator()(int64_t i) const { dz[i] = dy ? dy[i] * (1 - y[i] * y[i]) : 0; }
};

class RnnLayer : public RecurrentLayer {
 public:
  explicit RnnLayer(const LayerOptions& options) : RecurrentLayer(options, 1, /*cells=*/false) {}

 protected:
  float* hidden(const Operands& io) const override { return static_cast<float*>(io.saved[0]); }

  void step(Context& context, const RecurrentStep& s) override {
    for_each_channel(context, {1, lanes_, units_, Layout::kPlain}, RnnUnit{s});
  }
  void step_back(Context& context, const RecurrentStepBack& s) override {
    for_each_channel(context, {1, lanes_, units_, Layout::kPlain}, RnnUnitBack{s});
  }

  bool has_output() const override { return true; }

  void add_output_weights(LayerShapes& shapes) const override {
    add_weight(shapes, {units_, units_}, false);
    add_weight(shapes, {units_}, true);
  }

  void prepare_output(const PrepareRequest& request, Context& context, LayerNeeds& needs) override {
    product_ =
        plan_product(steps_ * lanes_, units_, units_, first_output_weight_, first_output_weight_ + 1, request, context);
    needs.w_formats.push_back(product_->weight_format());
    needs.w_formats.emplace_back(Shape{units_});
    needs.backward_reads_y.assign(request.y.size(), false);
    needs.backward_reads_y[0] = request.backward;
    needs.forward_scratch = std::max(needs.forward_scratch, product_->forward_scratch());
    kernels::ScratchLayout scratch;
    products_ = scratch.add(product_->backward_scratch());
    dz_ = scratch.add(steps_ * lanes_ * units_ * int64_t(sizeof(float)));
    needs.backward_scratch = std::max(needs.backward_scratch, scratch.bytes());
  }

  void forward_output(Context& context, const Operands& io) override {
    const float *w = io.w[first_output_weight_].f32(), *bias = io.w[first_output_weight_ + 1].f32();
    product_->forward(context, hidden(io), w, bias, io.y[0].data, io.scratch);
    for_each(context, io.y[0].count(), RnnTanh{io.y[0].f32()});
  }

  void backward_output(Context& context, const Operands& io, float* dh) override {
    float* dz = static_cast<float*>(kernels::scratch_part(io.scratch, dz_));
    void* products = kernels::scratch_part(io.scratch, products_);
    const size_t w = first_output_weight_;
    for_each(context, io.y[0].count(), TanhBack{io.y[0].f32(), io.dy[0].f32(), dz});
    const kernels::WeightGradients d{io.dw[w].f32(), io.dw[w + 1].f32(), io.adds(w), io.adds(w + 1)};
    if (d.w || d.bias) product_->backward_weights(context, hidden(io), dz, d, products);
    product_->backward_data(context, dz, io.w[w].f32(), dh, products);
  }

 private:
  std::unique_ptr<kernels::InnerProduct> product_;
  int64_t dz_ = 0, products_ = 0;  ///< offsets in scratch of the gradient before the tanh and of the product's scratch
};

const RegisterLayer register_rnn({
    .name = "RNN",
    .help = "a plain recurrent layer over whole sequences",
    .options = "recurrent_param",
    .min_bottoms = 2,
    .max_bottoms = 4,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_layer<RnnLayer>,
    .family = LayerFamily::kRecurrent,
});

}  // namespace

}  // namespace cortado

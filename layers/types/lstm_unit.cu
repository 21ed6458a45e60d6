// LSTMUnit: one step of an LSTM's units (lstm_gates.h), for nets that unroll their recurrence explicitly. Bottoms: c of
// the step before, 1 x N x D; the pre-activations of the gates, 1 x N x 4D; cont, 1 x N. Tops: c and h, 1 x N x D. LSTM
// does the same over whole sequences, including its matrix products.

#include "core/error.h"
#include "core/loops/for_each.h"
#include "layers/common/recurrent/lstm_gates.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// Element i, of lane n.
struct LstmUnitForward {
  const float *c, *sums, *cont;
  float *c_next, *h;
  int64_t units;
  CORTADO_HD void operator()(int64_t i, int64_t n) const {
    const float* a = sums + i + 3 * n * units;
    const LstmGates gates = LstmGates::of(a[0], a[units], a[2 * units], a[3 * units]);
    const float next = gates.next(cont[n], c[i]);
    c_next[i] = next;
    h[i] = gates.out * fast_tanh(next);
  }
};

/// Gradients that are missing, and those that are not needed, are null.
struct LstmUnitBackward {
  const float *c, *sums, *cont, *c_next, *dc_next, *dh;
  float *dc, *dsums;
  int64_t units;
  CORTADO_HD void operator()(int64_t i, int64_t n) const {
    const int64_t at = i + 3 * n * units;
    const float* a = sums + at;
    const LstmGates gates = LstmGates::of(a[0], a[units], a[2 * units], a[3 * units]);
    float d = 0;
    const LstmGates gradients = gates.gradients(cont[n], c[i], c_next[i], dh ? dh[i] : 0, dc_next ? dc_next[i] : 0, d);
    if (dc) dc[i] = d;
    if (dsums) gradients.store(dsums + at, units);
  }
};

class LstmUnitLayer : public Layer {
 public:
  explicit LstmUnitLayer(const LayerOptions&) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    const Shape& c = x[0];
    if (c.axes() != 3 || c[0] != 1)
      throw FieldError("bottom[0]", "its shape is " + c.str() + "; the state needs 1 x sequences x units");
    if (x[1] != Shape{1, c[1], checked_mul(4, c[2])})
      throw FieldError("bottom[1]", "its shape is " + x[1].str() + ", but the state is " + c.str(),
                       "set 1 x sequences x 4 units: four pre-activations for each unit");
    if (x[2] != Shape{1, c[1]})
      throw FieldError("bottom[2]", "its shape is " + x[2].str() + "; cont is " + Shape{1, c[1]}.str());
    lanes_ = c[1], units_ = c[2];
    return {.y = {c, c}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {true, true, true};
    needs.backward_reads_y = {true, false};
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each_channel(
        context, view(),
        LstmUnitForward{io.x[0].f32(), io.x[1].f32(), io.x[2].f32(), io.y[0].f32(), io.y[1].f32(), units_});
  }

  void backward(Context& context, const Operands& io) override {
    for_each_channel(context, view(),
                     LstmUnitBackward{io.x[0].f32(), io.x[1].f32(), io.x[2].f32(), io.y[0].f32(), io.dy[0].f32(),
                                      io.dy[1].f32(), io.dx[0].f32(), io.dx[1].f32(), units_});
  }

  bool differentiable(int i) const override { return i != 2; }

 private:
  ChannelView view() const { return {1, lanes_, units_, Layout::kPlain}; }

  int64_t lanes_ = 0, units_ = 0;
};

const RegisterLayer register_lstm_unit({
    .name = "LSTMUnit",
    .help = "one step of an LSTM's units, from pre-activations",
    .options = "",
    .min_bottoms = 3,
    .max_bottoms = 3,
    .min_tops = 2,
    .max_tops = 2,
    .make = make_layer<LstmUnitLayer>,
    .family = LayerFamily::kRecurrent,
});

}  // namespace

}  // namespace cortado

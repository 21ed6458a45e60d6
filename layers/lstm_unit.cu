// LSTMUnit: one time step of an LSTM, without its weights. Bottoms: the cell c0 before the step (1 x N x D), what the
// gates are made of (1 x N x 4D, in the order i, f, o, g) and cont (1 x N), by which the forget gate is multiplied: 0
// forgets c0. Tops: the cell c and the output h.
//   c = f c0 + i g,  h = o tanh(c),  with i, o = sigmoid, f = cont sigmoid and g = tanh of their parts
// The gates are computed again in backward from the bottoms.

#include <cmath>

#include "core/error.h"
#include "layers/registry.h"
#include "layers/typed.h"

namespace cortado {

namespace {

CORTADO_HD inline float sigmoid(float v) { return 0.5f * tanhf(0.5f * v) + 0.5f; }

/// The gates of one unit.
struct Gates {
  float i, f, o, g;
  float keeps;  ///< sigmoid, before cont
};

struct Units {
  const float *c0, *parts, *cont;
  int64_t size;  ///< D

  CORTADO_HD int64_t row(int64_t unit) const { return unit / size; }
  /// Where the part of the first gate lies; the others follow at a distance of `size`.
  CORTADO_HD int64_t part(int64_t unit) const { return row(unit) * 4 * size + unit - row(unit) * size; }
  CORTADO_HD Gates gates(int64_t unit) const {
    const float* p = parts + part(unit);
    const float keeps = sigmoid(p[size]);
    return {sigmoid(p[0]), cont[row(unit)] * keeps, sigmoid(p[2 * size]), tanhf(p[3 * size]), keeps};
  }
  CORTADO_HD float cell(int64_t unit, const Gates& gates) const { return gates.f * c0[unit] + gates.i * gates.g; }
};

struct Forward {
  Units units;
  float *c, *h;
  CORTADO_HD void operator()(int64_t unit) const {
    const Gates gates = units.gates(unit);
    c[unit] = units.cell(unit, gates);
    h[unit] = gates.o * tanhf(c[unit]);
  }
};

struct Backward {
  Units units;
  const float *dc, *dh;  ///< null: 0
  float *dc0, *dparts;   ///< null: not wanted
  CORTADO_HD void operator()(int64_t unit) const {
    const Gates gates = units.gates(unit);
    const float t = tanhf(units.cell(unit, gates)), of_h = dh ? dh[unit] : 0;
    const float of_c = (dc ? dc[unit] : 0) + of_h * gates.o * (1 - t * t);
    if (dc0) dc0[unit] = of_c * gates.f;
    if (!dparts) return;
    float* d = dparts + units.part(unit);
    d[0] = of_c * gates.g * gates.i * (1 - gates.i);
    d[units.size] = of_c * units.c0[unit] * gates.f * (1 - gates.keeps);
    d[2 * units.size] = of_h * t * gates.o * (1 - gates.o);
    d[3 * units.size] = of_c * gates.i * (1 - gates.g * gates.g);
  }
};

class LstmUnitLayer : public Layer {
 public:
  explicit LstmUnitLayer(const LayerOptions&) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (x[0].axes() != 3 || x[0][0] != 1)
      throw FieldError("bottom[0]", "its shape is " + x[0].str() + "; one step's cells are 1 x N x D");
    const Shape parts = {1, x[0][1], checked_mul(4, x[0][2])}, cont = {1, x[0][1]};
    if (x[1] != parts)
      throw FieldError("bottom[1]", "its shape is " + x[1].str() + ", but bottom[0] has " + x[0].str(),
                       "it holds the parts of four gates: " + parts.str());
    if (x[2] != cont)
      throw FieldError("bottom[2]", "its shape is " + x[2].str() + ", but bottom[0] has " + x[0].str(),
                       "it says of each sequence whether it goes on: " + cont.str());
    return {.y = {x[0], x[0]}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {true, true, true};
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each(context, io.x[0].count(), Forward{units(io), io.y[0].f32(), io.y[1].f32()});
  }

  void backward(Context& context, const Operands& io) override {
    for_each(context, io.x[0].count(),
             Backward{units(io), io.dy[0].f32(), io.dy[1].f32(), io.dx[0].f32(), io.dx[1].f32()});
  }

  bool differentiable(int i) const override { return i < 2; }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 10 * x[0].count(); }

 private:
  static Units units(const Operands& io) {
    return {io.x[0].f32(), io.x[1].f32(), io.x[2].f32(), io.x[0].shape()[2]};
  }
};

const RegisterLayer registered({
    .name = "LSTMUnit",
    .help = "one step of long short-term memory, without its weights",
    .options = "",
    .least_x = 3,
    .most_x = 3,
    .least_y = 2,
    .most_y = 2,
    .make = make_layer<LstmUnitLayer>,
});

}  // namespace

}  // namespace cortado

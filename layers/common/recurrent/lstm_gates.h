#pragma once

// The arithmetic of one LSTM unit in one step, shared by LSTM and LSTMUnit:
//     c' = cont sigmoid(f) c + sigmoid(i) tanh(g),    h = sigmoid(o) tanh(c').
// A unit has four pre-activations, `units` apart, in the order i, f, o, g. For .cu files.

#include "core/loops/fast_math.h"

namespace cortado {

/// The gates after their nonlinearities: the sigmoids, and the tanh of g.
struct LstmGates {
  float in, forget, out, candidate;

  CORTADO_HD static LstmGates of(float i, float f, float o, float g) {
    return {fast_sigmoid(i), fast_sigmoid(f), fast_sigmoid(o), fast_tanh(g)};
  }
  CORTADO_HD static LstmGates load(const float* from, int64_t units) {
    return {from[0], from[units], from[2 * units], from[3 * units]};
  }
  CORTADO_HD void store(float* to, int64_t units) const {
    to[0] = in, to[units] = forget, to[2 * units] = out, to[3 * units] = candidate;
  }

  /// c'. With cont = 0 the old value is dropped even if it is NaN.
  CORTADO_HD float next(float cont, float c) const { return (cont == 0 ? 0 : cont * forget * c) + in * candidate; }

  /// The gradients of the four pre-activations, and of c, from those of h and c'.
  CORTADO_HD LstmGates gradients(float cont, float c, float c_next, float dh, float dc_next, float& dc) const {
    const float kept = cont == 0 ? 0 : cont * c, tanh_c = fast_tanh(c_next);
    const float d = dc_next + dh * out * (1 - tanh_c * tanh_c);
    dc = d * cont * forget;
    return {d * candidate * in * (1 - in), d * kept * forget * (1 - forget), dh * tanh_c * out * (1 - out),
            d * in * (1 - candidate * candidate)};
  }
};

}  // namespace cortado

// LSTM: a recurrent layer (recurrent.h) with cells c. a holds four gates for each unit, in the order i, f, o, g:
//     c[t] = cont[t] sigmoid(f) c[t-1] + sigmoid(i) tanh(g),    h[t] = sigmoid(o) tanh(c[t]),    y = h.
// Weights: W_x, b, W_s with a static input, W_h; each of the four gates is num_output of their rows.

#include <cmath>

#include "core/for_each.h"
#include "layers/recurrent.h"
#include "layers/registry.h"

namespace cortado {

namespace {

CORTADO_HD inline float sigmoid(float v) { return 1 / (1 + expf(-v)); }

/// Element i, of lane n, leaves in a what the gates let through.
struct Unit {
  RecurrentStep s;
  int64_t units;

  CORTADO_HD float sum(int64_t k) const { return s.a[k] + s.from_h[k] + (s.from_s ? s.from_s[k] : 0); }
  CORTADO_HD void operator()(int64_t i, int64_t n) const {
    const int64_t at = i + 3 * n * units;
    const float in = sigmoid(sum(at)), forget = sigmoid(sum(at + units));
    const float out = sigmoid(sum(at + 2 * units)), candidate = tanhf(sum(at + 3 * units));
    const float kept = s.cont[n] == 0 ? 0 : s.cont[n] * forget * s.c[i];  // what is forgotten may be NaN
    const float c = kept + in * candidate, h = out * tanhf(c);
    s.a[at] = in, s.a[at + units] = forget, s.a[at + 2 * units] = out, s.a[at + 3 * units] = candidate;
    s.c_next[i] = c;
    s.h[i] = h;
    if (s.h_next) s.h_next[i] = s.cont_next[n] * h;
  }
};

struct UnitBack {
  RecurrentStepBack s;
  int64_t units;

  CORTADO_HD void operator()(int64_t i, int64_t n) const {
    const int64_t at = i + 3 * n * units;
    const float in = s.a[at], forget = s.a[at + units], out = s.a[at + 2 * units], candidate = s.a[at + 3 * units];
    const float cont = s.cont[n], c = cont == 0 ? 0 : s.c[i], tanh_c = tanhf(s.c_next[i]);
    const float dh =
        (s.dh ? s.dh[i] : 0) + (s.dh_last ? s.dh_last[i] : 0) + (s.dh_next ? s.cont_next[n] * s.dh_next[i] : 0);
    const float dc = (s.dc_next ? s.dc_next[i] : 0) + dh * out * (1 - tanh_c * tanh_c);
    s.dc[i] = dc * cont * forget;
    s.da[at] = dc * candidate * in * (1 - in);
    s.da[at + units] = dc * cont * c * forget * (1 - forget);
    s.da[at + 2 * units] = dh * tanh_c * out * (1 - out);
    s.da[at + 3 * units] = dc * in * (1 - candidate * candidate);
  }
};

class LstmLayer : public RecurrentLayer {
 public:
  explicit LstmLayer(const LayerOptions& options) : RecurrentLayer(options, 4, /*cells=*/true) {}

 protected:
  void step(Context& context, const RecurrentStep& s) override {
    for_each_channel(context, {1, lanes_, units_, Layout::kPlain}, Unit{s, units_});
  }
  void step_back(Context& context, const RecurrentStepBack& s) override {
    for_each_channel(context, {1, lanes_, units_, Layout::kPlain}, UnitBack{s, units_});
  }
};

const RegisterLayer registered({
    .name = "LSTM",
    .help = "long short-term memory over whole sequences",
    .options = "recurrent_param",
    .least_x = 2,
    .most_x = 5,
    .least_y = 1,
    .most_y = 3,
    .make = make_layer<LstmLayer>,
});

}  // namespace

}  // namespace cortado

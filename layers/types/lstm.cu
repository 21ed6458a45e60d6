// LSTM: a recurrent layer (recurrent.h) with cells c, whose units are those of lstm_gates.h, and y = h.
// Weights: W_x, b, W_s with a static input, W_h; each of the four gates is num_output of their rows.

#include "core/for_each.h"
#include "layers/common/lstm_gates.h"
#include "layers/common/recurrent.h"
#include "layers/registry.h"

namespace cortado {

namespace {

// Always inline: only within its loop does a unit become vector instructions, and it is too large to be taken there
// wherever for_each_channel repeats it.

/// Element i, of lane n, leaves in a what the gates let through.
struct Unit {
  RecurrentStep s;
  int64_t units;

  CORTADO_HD float sum(int64_t k) const { return s.a[k] + s.from_h[k]; }
  [[gnu::always_inline]] CORTADO_HD void operator()(int64_t i, int64_t n) const {
    const int64_t at = i + 3 * n * units;
    const LstmGates gates = LstmGates::of(sum(at), sum(at + units), sum(at + 2 * units), sum(at + 3 * units));
    const float c = gates.next(s.cont[n], s.c[i]), h = gates.out * fast_tanh(c);
    gates.store(s.a + at, units);
    s.c_next[i] = c;
    s.h[i] = h;
    s.h_next[i] = s.cont_next[n] * h;
  }
};

struct UnitBack {
  RecurrentStepBack s;
  int64_t units;

  [[gnu::always_inline]] CORTADO_HD void operator()(int64_t i, int64_t n) const {
    const int64_t at = i + 3 * n * units;
    const float dh = s.dh[i] + s.cont_next[n] * s.dh_next[i];
    float dc = 0;
    LstmGates::load(s.a + at, units)
        .gradients(s.cont[n], s.c[i], s.c_next[i], dh, s.dc_next[i], dc)
        .store(s.da + at, units);
    s.dc[i] = dc;
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
    .min_bottoms = 2,
    .max_bottoms = 5,
    .min_tops = 1,
    .max_tops = 3,
    .make = make_layer<LstmLayer>,
});

}  // namespace

}  // namespace cortado

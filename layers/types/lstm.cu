// LSTM: a recurrent layer (recurrent.h) with cells c, gates as in lstm_gates.h, and y = h.
// Weights: W_x, b, W_s with a static input, W_h; each of the four gates has num_output of their rows.
//
// Lstm: the same units as in junhyukoh's fork and in CTPN's. Weights: W_x, W_h, b. x is T x N x I, or, with another
// number of axes than three or with batch_size, TN x ..., N being batch_size; y is T x N x num_output or TN x
// num_output. The second bottom `clip`, one value for each step and sequence, is LSTM's cont; with it the state
// persists from pass to pass, without it each pass starts new sequences. clipping_threshold bounds each gradient of a
// gate's pre-activation before it propagates to the weights, to x and to the step before. Unlike the fork's, the
// gradient of W_h excludes the states that clip = 0 resets.

#include "core/error.h"
#include "core/loops/for_each.h"
#include "core/text/text.h"
#include "layers/common/recurrent/lstm_gates.h"
#include "layers/common/recurrent/recurrent.h"
#include "layers/registry.h"

namespace cortado {

namespace {

// Always inline: the compiler vectorizes a unit only within its loop, and the unit is too large to be inlined there by
// default at every use in for_each_channel.

/// Element i, of lane n; stores the gate activations in a.
struct LstmUnit {
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

struct LstmUnitBack {
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

CORTADO_HD inline float bounded(float v, float limit) { return v < -limit ? -limit : v > limit ? limit : v; }

struct BoundedUnitBack {
  LstmUnitBack unit;
  float limit;

  CORTADO_HD void operator()(int64_t i, int64_t n) const {
    unit(i, n);
    float* da = unit.s.da + i + 3 * n * unit.units;
    for (int64_t k = 0; k < 4; ++k) da[k * unit.units] = bounded(da[k * unit.units], limit);
  }
};

class LstmLayer : public RecurrentLayer {
 public:
  explicit LstmLayer(const LayerOptions& options) : RecurrentLayer(options, 4, /*cells=*/true) {}

 protected:
  using RecurrentLayer::RecurrentLayer;

  void step(Context& context, const RecurrentStep& s) override {
    for_each_channel(context, {1, lanes_, units_, Layout::kPlain}, LstmUnit{s, units_});
  }
  void step_back(Context& context, const RecurrentStepBack& s) override {
    for_each_channel(context, {1, lanes_, units_, Layout::kPlain}, LstmUnitBack{s, units_});
  }
};

/// The layer of junhyukoh's fork.
class SmallLstmLayer : public LstmLayer {
 public:
  explicit SmallLstmLayer(const LayerOptions& options)
      : LstmLayer(options, recurrent_of(options.config.lstm_param()), "lstm_param", 4, /*cells=*/true),
        param_(options.config.lstm_param()) {
    weights_ = {.x = 0, .bias = 2, .h = 1};
    if (!(param_.clipping_threshold() >= 0))
      throw FieldError("lstm_param.clipping_threshold", "the threshold must not be negative", "set 0 for no limit");
    if (param_.batch_size() == 0)
      throw FieldError("lstm_param.batch_size", "batch_size is 0", "set the number of sequences");
  }

 protected:
  void measure(const std::vector<Shape>& x) override {
    if (apart(x[0])) {
      steps_ = x[0][0], lanes_ = x[0][1], inputs_ = x[0][2];
    } else {
      require_rows(x[0]);
      lanes_ = param_.batch_size(), steps_ = x[0][0] / lanes_, inputs_ = x[0].count(1);
    }
    if (steps_ == 0 || lanes_ == 0)
      throw FieldError("bottom[0]", "its shape is " + x[0].str() + ", which has no steps");
    if (x.size() > 1 && x[1].count() != steps_ * lanes_)
      throw FieldError("bottom[1]",
                       "its shape is " + x[1].str() + ", but there are " + std::to_string(steps_) + " steps of " +
                           count_of(lanes_, "sequence", "sequences"),
                       "clip needs one value for each of them: 0 where a sequence starts, 1 where it continues");
  }

  Shape output_shape(const std::vector<Shape>& x) const override {
    return apart(x[0]) ? Shape{steps_, lanes_, units_} : Shape{steps_ * lanes_, units_};
  }

  void step_back(Context& context, const RecurrentStepBack& s) override {
    if (param_.clipping_threshold() == 0) return LstmLayer::step_back(context, s);
    for_each_channel(context, {1, lanes_, units_, Layout::kPlain},
                     BoundedUnitBack{{s, units_}, param_.clipping_threshold()});
  }

 private:
  static caffe::RecurrentParameter recurrent_of(const caffe::LSTMParameter& param) {
    caffe::RecurrentParameter recurrent;
    if (param.has_num_output()) recurrent.set_num_output(param.num_output());
    if (param.has_weight_filler()) *recurrent.mutable_weight_filler() = param.weight_filler();
    if (param.has_bias_filler()) *recurrent.mutable_bias_filler() = param.bias_filler();
    return recurrent;
  }

  /// Whether steps and sequences have separate axes.
  bool apart(const Shape& x) const { return x.axes() == 3 && !param_.has_batch_size(); }

  void require_rows(const Shape& x) const {
    if (x.axes() < 1 || x[0] % param_.batch_size() != 0)
      throw FieldError("bottom[0]",
                       "its shape is " + x.str() + "; steps of " +
                           count_of(param_.batch_size(), "sequence", "sequences") + " lie along its first axis",
                       "set lstm_param.batch_size to the number of sequences, a divisor of the first extent");
  }

  const caffe::LSTMParameter& param_;
};

const RegisterLayer register_lstm({
    .name = "LSTM",
    .help = "long short-term memory over whole sequences",
    .options = "recurrent_param",
    .min_bottoms = 2,
    .max_bottoms = 5,
    .min_tops = 1,
    .max_tops = 3,
    .make = make_layer<LstmLayer>,
    .family = LayerFamily::kRecurrent,
});

const RegisterLayer register_small_lstm({
    .name = "Lstm",
    .help = "long short-term memory over whole sequences, as in junhyukoh's fork",
    .options = "lstm_param",
    .min_bottoms = 1,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<SmallLstmLayer>,
    .family = LayerFamily::kRecurrent,
});

}  // namespace

}  // namespace cortado

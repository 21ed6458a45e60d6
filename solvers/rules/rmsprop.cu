// RMSProp (Tieleman and Hinton, Coursera lecture 6.5, 2012): h = d h + (1 - d) g^2; w -= rate g / (sqrt(h) + delta),
// with d = rms_decay.

#include <cmath>

#include "solvers/rule_of.h"

namespace cortado {

namespace {

struct RmsProp {
  static constexpr int kHistories = 1;
  float decay, delta;
  explicit RmsProp(const caffe::SolverParameter& config) : decay(config.rms_decay()), delta(config.delta()) {
    check_no_momentum(config);
    check_no_layer_rates(config);
    check_delta(config);
    check_fraction("rms_decay", config.rms_decay());
  }
  CORTADO_HD float operator()(const WeightStep& on, int64_t i) const {
    const float g = on.gradient(i), mean = decay * on.history[0][i] + (1 - decay) * (g * g);
    on.history[0][i] = mean;
    return on.rate * g / (sqrtf(mean) + delta);
  }
};

const RegisterUpdateRule register_rmsprop("RMSProp", make_rule<RmsProp>);

}  // namespace

}  // namespace cortado

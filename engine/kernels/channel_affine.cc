#include "kernels/channel_affine.h"

#include <cmath>

namespace cortado::kernels {

ChannelFactors::ChannelFactors(const std::vector<ChannelAffine>& row, const std::vector<const float*>& w,
                               int64_t channels)
    : scale(size_t(channels), 1.0), shift(size_t(channels), 0.0) {
  size_t next = 0;
  for (const ChannelAffine& step : row) {
    const float* const* own = w.data() + next;
    next += step.weights();
    const size_t learned = step.ends_with_mean ? 0 : step.statistics();
    const size_t mean = step.ends_with_mean ? step.weights() - step.statistics() : 0;
    const float* gamma = step.scales ? own[learned] : nullptr;
    const float* beta = step.shifts ? own[learned + (step.scales ? 1 : 0)] : nullptr;
    const float average = !step.normalises ? 0 : step.ends_with_mean ? 1 : average_scale(own[2][0]);
    for (size_t c = 0; c < scale.size(); ++c) {
      double factor = 1;
      if (step.normalises) {
        shift[c] -= double(own[mean][c]) * average;
        factor = 1 / std::sqrt(double(own[mean + 1][c]) * average + step.eps);
      }
      if (gamma) factor *= gamma[c];
      scale[c] *= factor;
      shift[c] = shift[c] * factor + (beta ? beta[c] : 0);
    }
  }
}

}  // namespace cortado::kernels

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
    const float* gamma = step.scales ? own[step.normalises ? 3 : 0] : nullptr;
    const float* beta = step.shifts ? own[step.weights() - 1] : nullptr;
    const float average = step.normalises ? average_scale(own[2][0]) : 0;
    for (size_t c = 0; c < scale.size(); ++c) {
      double factor = 1;
      if (step.normalises) {
        shift[c] -= double(own[0][c]) * average;
        factor = 1 / std::sqrt(double(own[1][c]) * average + step.eps);
      }
      if (gamma) factor *= gamma[c];
      scale[c] *= factor;
      shift[c] = shift[c] * factor + (beta ? beta[c] : 0);
    }
  }
}

}  // namespace cortado::kernels

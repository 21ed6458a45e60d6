#include "layers/channel_affine.h"

#include <cmath>

namespace cortado {

ChannelFactors::ChannelFactors(const std::vector<ChannelAffine>& row, const std::vector<const float*>& w,
                               int64_t channels)
    : scale(size_t(channels), 1.0), shift(size_t(channels), 0.0) {
  size_t next = 0;
  for (const ChannelAffine& layer : row) {
    const float* const* own = w.data() + next;
    next += layer.weights();
    const float* gamma = layer.scales ? own[layer.normalises ? 3 : 0] : nullptr;
    const float* beta = layer.shifts ? own[layer.weights() - 1] : nullptr;
    const float average = layer.normalises ? average_scale(own[2][0]) : 0;
    for (size_t c = 0; c < scale.size(); ++c) {
      double factor = 1;
      if (layer.normalises) {
        shift[c] -= double(own[0][c]) * average;
        factor = 1 / std::sqrt(double(own[1][c]) * average + layer.eps);
      }
      if (gamma) factor *= gamma[c];
      scale[c] *= factor;
      shift[c] = shift[c] * factor + (beta ? beta[c] : 0);
    }
  }
}

}  // namespace cortado

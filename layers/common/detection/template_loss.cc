#include "layers/common/detection/template_loss.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace cortado {

double softmax_term(const float* x, int64_t apart, int64_t classes, int64_t label, float weight, float* gradient) {
  float most = x[0], sum = 0;
  for (int64_t c = 1; c < classes; ++c) most = std::max(most, x[c * apart]);
  for (int64_t c = 0; c < classes; ++c) sum += std::exp(x[c * apart] - most);
  const auto probability = [&](int64_t c) { return std::exp(x[c * apart] - most) / sum; };
  for (int64_t c = 0; c < classes && gradient; ++c)
    gradient[c * apart] = weight * (probability(c) - (c == label ? 1 : 0));
  const float p = probability(label);
  return -double(weight) * double(std::log(p < FLT_MIN ? FLT_MIN : p));
}

BoxOffsets limited_offsets(const TemplateField& field, const OffsetScale& scale, const BoxOffsets& o) {
  const float mean_xy = (scale.mean[0] + scale.mean[1]) / 2, mean_wh = (scale.mean[2] + scale.mean[3]) / 2;
  const float by_xy = std::sqrt(scale.deviation[0] * scale.deviation[1]);
  const float by_wh = std::sqrt(scale.deviation[2] * scale.deviation[3]);
  const BoxOffsets found =
      field.limited({o.x * by_xy + mean_xy, o.y * by_xy + mean_xy, o.w * by_wh + mean_wh, o.h * by_wh + mean_wh});
  return {(found.x - mean_xy) / by_xy, (found.y - mean_xy) / by_xy, (found.w - mean_wh) / by_wh,
          (found.h - mean_wh) / by_wh};
}

BoxOffsets wanted_offsets(const TemplateField& field, const OffsetScale& scale, const BranchLabels& labels, int64_t n,
                          int64_t p, int64_t width) {
  const float centre_x = (float(p % width) + 0.5f) * field.rate, centre_y = (float(p / width) + 0.5f) * field.rate;
  return scale.done({(labels.value(n, p, 1) - centre_x) / field.width,
                     (labels.value(n, p, 2) - centre_y) / field.height,
                     std::log(std::max(labels.value(n, p, 3), 2.0f) / field.width),
                     std::log(std::max(labels.value(n, p, 4), 2.0f) / field.height)});
}

double box_term(const BoxOffsets& t, const BoxOffsets& g, bool smooth, float* gradient, int64_t apart) {
  const float differences[4] = {t.x - g.x, t.y - g.y, t.w - g.w, t.h - g.h};
  double sum = 0;
  for (const float d : differences) {
    const bool steep = smooth && !(std::fabs(d) < 1);
    sum += steep ? std::fabs(d) - 0.5 : 0.5 * double(d) * double(d);
    *gradient = steep ? (d > 0 ? 1.0f : -1.0f) : d;
    gradient += apart;
  }
  return sum;
}

}  // namespace cortado

#include <algorithm>
#include <cmath>

#include "core/rng.h"
#include "data/augment/mix.h"

namespace cortado::data {

namespace {

constexpr uint64_t kMixKey = 0x4D49584Dull;  // separates these draws from others with the same seed

/// The logarithm of a draw from Gamma(shape, 1), by Marsaglia and Tsang's rejection method; shapes below 1 are derived
/// from shape + 1. Logarithmic, because draws of small shapes are below the smallest double.
double log_gamma_draw(RandomStream& random, double shape) {
  if (shape < 1) return log_gamma_draw(random, shape + 1) + std::log(1 - double(random.uniform())) / shape;
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double z = random.normal(), root = 1 + c * z, v = root * root * root;
    if (root <= 0) continue;
    if (std::log(1 - double(random.uniform())) < z * z / 2 + d - d * v + d * std::log(v)) return std::log(d * v);
  }
}

/// Draws from Beta(alpha, alpha) as a / (a + b) of two gamma draws.
double beta_draw(RandomStream& random, double alpha) {
  const double a = log_gamma_draw(random, alpha), b = log_gamma_draw(random, alpha);
  return 1 / (1 + std::exp(b - a));
}

}  // namespace

MixParams draw_mix(const MixPlan& plan, int height, int width, uint64_t seed, uint64_t position) {
  RandomStream random(mix_key(mix_key(seed, kMixKey), position));
  const bool mixes = random.uniform() < plan.prob, prefers_cut = random.uniform() < plan.cutmix_share;
  if (!mixes) return {};
  const bool cuts = plan.cutmix_alpha > 0 && (prefers_cut || plan.mixup_alpha <= 0);
  if (!cuts) return {float(beta_draw(random, plan.mixup_alpha))};
  const double side = std::sqrt(1 - beta_draw(random, plan.cutmix_alpha));  // relative to each side of the image
  const int h = int(side * height), w = int(side * width);
  const int y = int(random.below(uint64_t(height))), x = int(random.below(uint64_t(width)));  // the centre: anywhere
  const int top = std::max(y - h / 2, 0), left = std::max(x - w / 2, 0);
  const int bottom = std::min(y - h / 2 + h, height), right = std::min(x - w / 2 + w, width);
  if (bottom <= top || right <= left) return {};
  const double taken = double(bottom - top) * (right - left) / (double(height) * width);
  return {float(1 - taken), top, left, bottom - top, right - left};
}

}  // namespace cortado::data

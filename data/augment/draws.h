#pragma once

// The random numbers for one sample. Each option has its own lane, so that enabling one does not change the draws of
// the others.

#include <cmath>

#include "core/rng.h"
#include "data/augment/augment_plan.h"

namespace cortado::data {

/// The number of a sample and its epoch.
struct SampleKey {
  uint64_t seed, epoch, index;
};

constexpr uint64_t kAugmentKey = 0x4155474Dull;  // separates these draws from others with the same seed

/// The lanes of options. kCrop is older than the others and uses separate words for mirror, top and left.
enum class Lane : uint64_t {
  kCrop = 0,
  kFilter,
  kExpand,
  kPart,
  kResize,
  kFlip,
  kMotion,
  kPolicy,
  kDistort,
  kJitter,
  kGray,
  kSpots,
  kBlur,
  kNoise,
  kErase,
  kPixels,
  kSampler
};

class Draws {
 public:
  Draws(const SampleKey& key, Lane lane)
      : philox_(mix_key(mix_key(mix_key(key.seed, kAugmentKey), uint64_t(lane)), key.epoch)), index_(key.index) {}

  uint32_t word() {
    if (next_ % 4 == 0) words_ = philox_(next_ / 4, index_);
    return words_.v[next_++ % 4];
  }
  double unit() { return word() * 0x1p-32; }  ///< [0, 1)
  double between(Range range) { return range.low + (double(range.high) - range.low) * unit(); }
  double between_logs(Range range) { return std::exp(std::log(range.low) + std::log(range.high / range.low) * unit()); }
  double either_side(double most) { return most * (2 * unit() - 1); }
  bool chance(float probability) { return unit() < probability; }
  int below(int n) { return int(uint64_t(word()) * uint64_t(n) >> 32); }  ///< the bias is below n / 2^32

 private:
  Philox philox_;
  uint64_t index_, next_ = 0;
  Philox::Words words_{};
};

}  // namespace cortado::data

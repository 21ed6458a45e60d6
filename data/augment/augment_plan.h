#pragma once

// What may happen to a sample, as ranges: transform_param's options of all dialects brought to one form. draw_params()
// draws from these.

#include <optional>
#include <vector>

#include "data/augment/augment_params.h"

namespace cortado::data {

/// Drawn evenly between the two; equal ends are certain.
struct Range {
  float low = 0, high = 0;
  bool is_one(float value) const { return low == value && high == value; }
  float middle() const { return low + (high - low) / 2; }
};

enum class Fit : uint8_t {
  kNone,
  kWarp,   ///< to height x width
  kShort,  ///< the aspect stays; the shorter side is brought to a length of `side`
  kCover,  ///< the aspect stays; the image just covers height x width
  kPad     ///< the aspect stays; the image fits within height x width, in the middle, and is padded to it
};

/// How the image is brought to a size before it is cropped.
struct ResizePlan {
  Fit fit = Fit::kNone;
  float prob = 1;
  int height = 0, width = 0;
  Range side;
  Range factor{1, 1}, stretch_h{1, 1}, stretch_w{1, 1};  ///< of both sides; of each
  bool enlarge = true;                                   ///< false: factors above 1 count as 1
};

/// A random part of the image, brought to the size of the crop.
struct PartPlan {
  bool on = false;
  Range area, aspect;
  int attempts = 10;
  Range test_side;  ///< testing instead: the centre of the image with this shorter side
};

/// SSD's batch_sampler: parts are drawn until so many show an object as they should.
struct PartSampler {
  Range scale{1, 1}, aspect{1, 1};
  /// Of one of the objects: its overlap with the part, the share of the part that it covers, the share of it that is
  /// in the part.
  std::optional<Range> overlap, sample_coverage, object_coverage;
  int64_t most = 0, trials = 100;  ///< 0: no limit
  bool constrained() const { return overlap || sample_coverage || object_coverage; }
};

/// Which objects stay when only a part of the image is shown.
struct KeepObjects {
  enum Rule : uint8_t { kSeen, kCenter, kOverlap };  ///< any part of it, its centre, more than a share of it
  Rule rule = kSeen;
  float overlap = 0;
  bool difficult = true;  ///< false: those are left out
};

/// Motions about the middle of the result.
struct MotionPlan {
  float rotate = 0, shear = 0;  ///< degrees
  float translate = 0;          ///< share of the side
  Range zoom{1, 1};
  bool on() const { return rotate > 0 || shear > 0 || translate > 0 || !zoom.is_one(1); }
};

/// Factors from 1 - x to 1 + x, and a share of the colour circle.
struct JitterPlan {
  float prob = 1, brightness = 0, contrast = 0, saturation = 0, hue = 0;
  bool on() const { return brightness > 0 || contrast > 0 || saturation > 0 || hue > 0; }
};

/// SSD's distort_param: each with its own probability; contrast about black, hue in halves of degrees.
struct DistortPlan {
  bool on = false;
  float brightness_prob = 0, contrast_prob = 0, hue_prob = 0, saturation_prob = 0, order_prob = 0;
  float brightness = 0, hue = 0;
  Range contrast{1, 1}, saturation{1, 1};
};

/// SSD's noise_param: what happens, all together, with a probability.
struct NoisePlan {
  float prob = 0;
  bool equalize = false, invert = false, gray = false, blur = false, posterize = false;
  float salt = 0;
  std::vector<float> salt_value;
};

struct BlurPlan {
  float prob = 0;
  Range sigma;
};

struct ErasePlan {
  float prob = 0;
  Range area, aspect;
  bool noise = false;
};

enum class Policy : uint8_t { kNone, kRandAugment, kImageNet, kCifar10 };

/// Pairs of a batch that are mixed; see data/augment/mix.h.
struct MixPlan {
  int classes = 0;
  float mixup_alpha = 0, cutmix_alpha = 0, prob = 1, cutmix_share = 0.5f;
  bool on() const { return classes > 0; }
};

struct AugmentPlan {
  std::vector<Filter> filters{Filter::kLinear};  ///< one of them, by chance; the first in testing
  bool smooth = true;
  Filter filter_up = Filter::kLinear;  ///< instead, for enlarging, when `by_direction`
  bool by_direction = false;
  PartPlan part;
  ResizePlan resize;
  float expand_prob = 0, expand_most = 1;
  std::vector<PartSampler> samplers;  ///< of images with objects
  float jitter_edges = 0;             ///< likewise: each edge moves by up to this share of the side
  KeepObjects keep;
  int pad = 0;
  float flip_h = 0, flip_v = 0;  ///< besides TransformPlan::mirror
  MotionPlan motion;
  Border border = Border::kFill;
  std::vector<float> fill;  ///< empty: the mean values
  JitterPlan jitter;
  DistortPlan distort;
  NoisePlan spots;  ///< noise_param
  bool swap_red_blue = false;
  float grayscale = 0;
  BlurPlan blur;
  float noise = 0;
  ErasePlan erase;
  Policy policy = Policy::kNone;
  int policy_ops = 0;
  float magnitude = 0;
  MixPlan mix;

  bool moves = false;   ///< something beyond crop and flips changes geometry: resizing, padding, motions
  bool colors = false;  ///< something changes colours, which takes 1 or 3 channels
  bool looks = false;   ///< anything is drawn besides crop, mirror and what place_sample() draws
};

}  // namespace cortado::data

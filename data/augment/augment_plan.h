#pragma once

// The possible transformations of a sample, as ranges: the options of transform_param of all dialects in one form.
// draw_params() draws from these.

#include <optional>
#include <vector>

#include "data/augment/augment_params.h"

namespace cortado::data {

/// A uniform distribution between the two; equal limits are a constant.
struct Range {
  float low = 0, high = 0;
  bool is_one(float value) const { return low == value && high == value; }
  float middle() const { return low + (high - low) / 2; }
};

enum class Fit : uint8_t {
  kNone,
  kWarp,   ///< to height x width
  kShort,  ///< keeps the aspect ratio; the shorter side becomes `side`
  kCover,  ///< keeps the aspect ratio; the smallest size that covers height x width
  kPad     ///< keeps the aspect ratio; the largest size that fits in height x width, centred and padded to it
};

/// The resizing before the crop.
struct ResizePlan {
  Fit fit = Fit::kNone;
  float prob = 1;
  int height = 0, width = 0;
  Range side;
  Range factor{1, 1}, stretch_h{1, 1}, stretch_w{1, 1};  ///< of both sides; of each one
  std::vector<float> factors;                            ///< of both sides in addition: one of these; empty: 1
  bool enlarge = true;                                   ///< false: factors above 1 are treated as 1
};

/// A random part of the image, resized to the size of the crop.
struct PartPlan {
  bool on = false;
  Range area, aspect;
  int attempts = 10;
  Range test_side;  ///< for testing: the image's shorter side is resized to this length and the centre is cropped
};

/// SSD's batch_sampler: draws parts until enough of them satisfy the constraints for an object.
struct PartSampler {
  Range scale{1, 1}, aspect{1, 1};
  /// Constraints for one object: its overlap with the part (IoU), the fraction of the part that it covers, and the
  /// fraction of the object that is in the part.
  std::optional<Range> overlap, sample_coverage, object_coverage;
  bool has_center = false;         ///< the centre of the object is in the part
  int64_t most = 0, trials = 100;  ///< 0: no limit
  bool constrained() const { return overlap || sample_coverage || object_coverage || has_center; }
};

/// The objects that are kept when only a part of the image is used.
struct KeepObjects {
  enum Rule : uint8_t {
    kSeen,
    kCenter,
    kOverlap
  };  ///< any part of it, its centre, or more than a given fraction of it is visible
  Rule rule = kSeen;
  float overlap = 0;
  bool difficult = true;  ///< false: difficult objects are dropped
  bool whole = false;     ///< boxes are not clipped
};

/// Motions around the centre of the result.
struct MotionPlan {
  float rotate = 0, shear = 0;  ///< degrees
  float translate = 0;          ///< fraction of the side
  Range zoom{1, 1};
  bool on() const { return rotate > 0 || shear > 0 || translate > 0 || !zoom.is_one(1); }
};

/// Factors from 1 - x to 1 + x, and a fraction of the colour circle.
struct JitterPlan {
  float prob = 1, brightness = 0, contrast = 0, saturation = 0, hue = 0;
  bool on() const { return brightness > 0 || contrast > 0 || saturation > 0 || hue > 0; }
};

/// SSD's distort_param: each change has its own probability; contrast is relative to black, hue is in units of 2
/// degrees.
struct DistortPlan {
  bool on = false;
  float brightness_prob = 0, contrast_prob = 0, hue_prob = 0, saturation_prob = 0, order_prob = 0;
  float brightness = 0, hue = 0;
  Range contrast{1, 1}, saturation{1, 1};
};

/// SSD's noise_param: all changes together, with one probability.
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

/// Mixing of pairs of a batch; see data/augment/mix.h.
struct MixPlan {
  int classes = 0;
  float mixup_alpha = 0, cutmix_alpha = 0, prob = 1, cutmix_share = 0.5f;
  bool on() const { return classes > 0; }
};

struct AugmentPlan {
  std::vector<Filter> filters{Filter::kLinear};  ///< one of them is drawn; testing uses the first
  bool smooth = true;
  Filter filter_up = Filter::kLinear;  ///< for enlarging, with `by_direction`
  bool by_direction = false;
  PartPlan part;
  ResizePlan resize;
  float expand_prob = 0, expand_most = 1;
  std::vector<PartSampler> samplers;  ///< for images with objects
  bool parts_fill_image = false;      ///< a part of the samplers is resized to the size of the image
  float jitter_edges = 0;             ///< for images with objects: each edge moves by up to this fraction of the side
  KeepObjects keep;
  int pad = 0;
  float flip_h = 0, flip_v = 0;  ///< in addition to TransformPlan::mirror
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

  bool moves = false;   ///< geometry changes beyond crop and flips: resizing, padding, motions
  bool colors = false;  ///< colours change, which requires 1 or 3 channels
  bool looks = false;   ///< there are draws besides crop, mirror and those of place_sample()
};

}  // namespace cortado::data

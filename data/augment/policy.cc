#include <numbers>

#include "data/augment/augment_options.h"

namespace cortado::data {

namespace {

/// RandAugment's operations are first.
enum class Op : uint8_t {
  kIdentity,
  kShearX,
  kShearY,
  kMoveX,
  kMoveY,
  kRotate,
  kBrightness,
  kColor,
  kContrast,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutoContrast,
  kEqualize,
  kInvert
};
constexpr int kRandAugmentOps = 14;

/// One of the two steps of a sub-policy: its probability in tenths, and its level from 0 to 9.
struct Step {
  Op op;
  uint8_t tenths, level;
};
using SubPolicy = Step[2];

using enum Op;

constexpr SubPolicy kImageNetPolicy[] = {
    {{kPosterize, 4, 8}, {kRotate, 6, 9}},  {{kSolarize, 6, 5}, {kAutoContrast, 6, 0}},
    {{kEqualize, 8, 0}, {kEqualize, 6, 0}}, {{kPosterize, 6, 7}, {kPosterize, 6, 6}},
    {{kEqualize, 4, 0}, {kSolarize, 2, 4}}, {{kEqualize, 4, 0}, {kRotate, 8, 8}},
    {{kSolarize, 6, 3}, {kEqualize, 6, 0}}, {{kPosterize, 8, 5}, {kEqualize, 10, 0}},
    {{kRotate, 2, 3}, {kSolarize, 6, 8}},   {{kEqualize, 6, 0}, {kPosterize, 4, 6}},
    {{kRotate, 8, 8}, {kColor, 4, 0}},      {{kRotate, 4, 9}, {kEqualize, 6, 0}},
    {{kEqualize, 0, 0}, {kEqualize, 8, 0}}, {{kInvert, 6, 0}, {kEqualize, 10, 0}},
    {{kColor, 6, 4}, {kContrast, 10, 8}},   {{kRotate, 8, 8}, {kColor, 10, 2}},
    {{kColor, 8, 8}, {kSolarize, 8, 7}},    {{kSharpness, 4, 7}, {kInvert, 6, 0}},
    {{kShearX, 6, 5}, {kEqualize, 10, 0}},  {{kColor, 4, 0}, {kEqualize, 6, 0}},
    {{kEqualize, 4, 0}, {kSolarize, 2, 4}}, {{kSolarize, 6, 5}, {kAutoContrast, 6, 0}},
    {{kInvert, 6, 0}, {kEqualize, 10, 0}},  {{kColor, 6, 4}, {kContrast, 10, 8}},
    {{kEqualize, 8, 0}, {kEqualize, 6, 0}},
};

constexpr SubPolicy kCifar10Policy[] = {
    {{kInvert, 1, 0}, {kContrast, 2, 6}},       {{kRotate, 7, 2}, {kMoveX, 3, 9}},
    {{kSharpness, 8, 1}, {kSharpness, 9, 3}},   {{kShearY, 5, 8}, {kMoveY, 7, 9}},
    {{kAutoContrast, 5, 0}, {kEqualize, 9, 0}}, {{kShearY, 2, 7}, {kPosterize, 3, 7}},
    {{kColor, 4, 3}, {kBrightness, 6, 7}},      {{kSharpness, 3, 9}, {kBrightness, 7, 9}},
    {{kEqualize, 6, 0}, {kEqualize, 5, 0}},     {{kContrast, 6, 7}, {kSharpness, 6, 5}},
    {{kColor, 7, 7}, {kMoveX, 5, 8}},           {{kEqualize, 3, 0}, {kAutoContrast, 4, 0}},
    {{kMoveY, 4, 3}, {kSharpness, 2, 6}},       {{kBrightness, 9, 6}, {kColor, 2, 8}},
    {{kSolarize, 5, 2}, {kInvert, 0, 0}},       {{kEqualize, 2, 0}, {kAutoContrast, 6, 0}},
    {{kEqualize, 2, 0}, {kEqualize, 6, 0}},     {{kColor, 9, 9}, {kEqualize, 6, 0}},
    {{kAutoContrast, 8, 0}, {kSolarize, 2, 8}}, {{kBrightness, 1, 3}, {kColor, 7, 0}},
    {{kSolarize, 4, 5}, {kAutoContrast, 9, 0}}, {{kMoveY, 9, 9}, {kMoveY, 7, 9}},
    {{kAutoContrast, 9, 0}, {kSolarize, 8, 3}}, {{kEqualize, 8, 0}, {kInvert, 1, 0}},
    {{kMoveY, 7, 9}, {kAutoContrast, 9, 0}},
};

/// The data that operations change.
struct Target {
  int height, width;
  PolicyChoice& choice;
  ColorList& colors;

  void move(const Motion& motion) { choice.back = choice.back.after(way_back(motion, height, width)); }

  /// `strength` is 0 to 1, or negative for the opposite direction.
  void apply(Op op, double strength) {
    const double factor = 1 + 0.9 * strength, most = 150.0 / 331 * strength, positive = std::abs(strength);
    switch (op) {
      case kIdentity:
        break;
      case kShearX:
        move({.shear_x = 0.3 * strength});
        break;
      case kShearY:
        move({.shear_y = 0.3 * strength});
        break;
      case kMoveX:
        move({.move_x = std::round(most * width)});
        break;
      case kMoveY:
        move({.move_y = std::round(most * height)});
        break;
      case kRotate:
        move({.turn = std::numbers::pi / 6 * strength});
        break;
      case kBrightness:
        colors.add(brightened(factor));
        break;
      case kColor:
        colors.add(saturated(factor));
        break;
      case kContrast:
        colors.add(contrasted(factor, 128));
        break;
      case kSharpness:
        choice.sharpen = float(factor - 1);
        break;
      case kPosterize:
        colors.posterize(8 - int(std::round(4 * positive)));
        break;
      case kSolarize:
        colors.solarize(255 * (1 - positive));
        break;
      case kAutoContrast:
        colors.auto_contrast();
        break;
      case kEqualize:
        colors.equalize();
        break;
      case kInvert:
        colors.add(inverted());
        break;
    }
  }
};

double with_sign(Draws& draws, double strength) { return draws.chance(0.5f) ? -strength : strength; }

}  // namespace

PolicyChoice apply_policy(const AugmentPlan& plan, int height, int width, const SampleKey& key, ColorList& colors) {
  PolicyChoice choice;
  if (plan.policy == Policy::kNone) return choice;
  Draws draws(key, Lane::kPolicy);
  Target target{height, width, choice, colors};
  if (plan.policy == Policy::kRandAugment) {
    for (int i = 0; i < plan.policy_ops; ++i) {
      const Op op = Op(draws.below(kRandAugmentOps));
      target.apply(op, with_sign(draws, plan.magnitude / 30.0));
    }
    return choice;
  }
  const bool imagenet = plan.policy == Policy::kImageNet;
  static_assert(std::size(kImageNetPolicy) == std::size(kCifar10Policy));
  const int which = draws.below(int(std::size(kImageNetPolicy)));
  for (const Step& step : imagenet ? kImageNetPolicy[which] : kCifar10Policy[which]) {
    const double strength = with_sign(draws, step.level / 9.0);
    if (draws.below(10) < step.tenths) target.apply(step.op, strength);
  }
  return choice;
}

}  // namespace cortado::data

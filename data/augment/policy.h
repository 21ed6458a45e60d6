#pragma once

// The operations of AutoAugment (Cubuk et al. 2018) and RandAugment (2019), and how strong each is: a strength of 1
// shears by 0.3, moves by 150/331 of the side, turns by 30 degrees, changes colour factors by 0.9, leaves 4 bits, and
// inverts from 0 up.

#include "data/augment/color_list.h"
#include "data/augment/draws.h"

namespace cortado::data {

/// What a policy chose: motions compose in `back`, colours are added to a list.
struct PolicyChoice {
  Affine back;
  float sharpen = 0;
};

PolicyChoice apply_policy(const AugmentPlan& plan, int height, int width, const SampleKey& key, ColorList& colors);

}  // namespace cortado::data

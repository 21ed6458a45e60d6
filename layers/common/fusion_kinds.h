#pragma once

// Kinds of fusions that several layers know.

#include "layers/fusion.h"

namespace cortado {

/// The maker starts backward with dy = 0 where its y is not positive. A reader whose dx is 0 there saves it that step.
extern const FusionKind kReluMask;

/// The reader, a sum, gets a factor and a term for each channel; its x is the value before both, which the maker leaves
/// in y.
extern const FusionKind kChannelMap;

/// The reader, a normalization, gets the sum of each channel of x, and of its squares.
extern const FusionKind kChannelSums;

/// The maker reads two gradients that the reader, a Split, would otherwise add.
extern const FusionKind kGradientParts;

}  // namespace cortado

#pragma once

// Kinds of fusions that several layers know.

#include "layers/fusion.h"

namespace cortado {

/// The maker begins backward with dy = 0 where its y is not positive; a reader that makes 0 of dx there spares it that.
extern const FusionKind kReluMask;

/// The reader, a sum, gets a factor and a term for each channel, and the maker's y is its x still.
extern const FusionKind kChannelMap;

/// The reader, a normalisation, gets the sums of each channel of x, and of its squares.
extern const FusionKind kChannelSums;

/// The maker reads two gradients where the reader, a Split, would add them up.
extern const FusionKind kGradientParts;

}  // namespace cortado

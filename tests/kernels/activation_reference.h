#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/post_ops.h"

namespace cortado::kernels::testing {

/// The activation's formula. No default case, so that the compiler reports a missing kind.
inline double activation_reference(const Activation& activation, double v) {
  switch (activation.kind) {
    case Activation::kNone:
      return v;
    case Activation::kRelu:
      return std::max(v, 0.0);
    case Activation::kClippedRelu:
      return std::min(std::max(v, 0.0), double(activation.ceiling));
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-v));
    case Activation::kSwish:
      return v / (1 + std::exp(-v));
    case Activation::kGelu:
      return v / 2 * std::erfc(-v / std::sqrt(2.0));
  }
  return NAN;
}

/// An activation of this kind, with this ceiling if it has one.
inline Activation activation_of(Activation::Kind kind, float ceiling) {
  return {kind, kind == Activation::kClippedRelu ? ceiling : INFINITY};
}

}  // namespace cortado::kernels::testing

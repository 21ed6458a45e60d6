#pragma once

// An activation (kernels/post_ops.h) of sixteen values at once. `ceiling` is the activation's in every lane. Where the
// compiler knows the kind, nothing is left of the choice.

#include <type_traits>

#include "kernels/cpu/vec16f.h"
#include "kernels/post_ops.h"

namespace cortado::kernels {

inline Vec16f sigmoid(const Vec16f& v) { return 1.0f / (1.0f + exponential(-v)); }

/// One lane after the other: the library has no error function for vectors, and few nets ask for it.
inline Vec16f gelu(const Vec16f& v) {
  Vec16f y;
  for (int lane = 0; lane < kLanes; ++lane) y[lane] = Activation{Activation::kGelu}(v[lane]);
  return y;
}

/// activated() of a kind that gates(), for loops which the others' longer code would slow down.
inline Vec16f gated(Activation::Kind kind, const Vec16f& ceiling, const Vec16f& v) {
  if (kind == Activation::kNone) return v;
  const Vec16f positive = larger(Vec16f{}, v);
  return kind == Activation::kRelu ? positive : smaller(positive, ceiling);
}

/// Activation::operator(); smooth ones to a few units in the last place.
inline Vec16f activated(Activation::Kind kind, const Vec16f& ceiling, const Vec16f& v) {
  switch (kind) {
    case Activation::kNone:
    case Activation::kRelu:
    case Activation::kClippedRelu:
      break;
    case Activation::kSigmoid:
      return sigmoid(v);
    case Activation::kSwish:
      return v * sigmoid(v);
    case Activation::kGelu:
      return gelu(v);
  }
  return gated(kind, ceiling, v);
}

/// Activation::passes(), as bits.
inline uint16_t passing(const Vec16f& ceiling, const Vec16f& v) { return bits_between(v, Vec16f{}, ceiling); }
/// dy where it passes, else 0.
inline Vec16f passed(const Vec16f& ceiling, const Vec16f& v, const Vec16f& dy) {
  return (v > 0) & (v < ceiling) ? dy : Vec16f{};
}

/// use(kind) with the kind as a constant.
template <typename Use>
void with_activation(Activation::Kind kind, const Use& use) {
  switch (kind) {
    case Activation::kNone:
      return use(std::integral_constant<Activation::Kind, Activation::kNone>());
    case Activation::kRelu:
      return use(std::integral_constant<Activation::Kind, Activation::kRelu>());
    case Activation::kClippedRelu:
      return use(std::integral_constant<Activation::Kind, Activation::kClippedRelu>());
    case Activation::kSigmoid:
      return use(std::integral_constant<Activation::Kind, Activation::kSigmoid>());
    case Activation::kSwish:
      return use(std::integral_constant<Activation::Kind, Activation::kSwish>());
    case Activation::kGelu:
      return use(std::integral_constant<Activation::Kind, Activation::kGelu>());
  }
}

}  // namespace cortado::kernels

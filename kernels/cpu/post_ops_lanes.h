#pragma once

// An activation (kernels/post_ops.h) of sixteen values at once. `ceiling` is the activation's in every lane. Where the
// compiler knows the kind, nothing is left of the choice.

#include <type_traits>

#include "kernels/cpu/vec16f.h"
#include "kernels/post_ops.h"

namespace cortado::kernels {

/// Activation::operator().
inline Vec16f activated(Activation::Kind kind, const Vec16f& ceiling, const Vec16f& v) {
  switch (kind) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      return larger(Vec16f{}, v);
    case Activation::kClippedRelu:
      return smaller(larger(Vec16f{}, v), ceiling);
  }
  return v;
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
  }
}

}  // namespace cortado::kernels

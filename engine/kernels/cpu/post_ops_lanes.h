#pragma once

// Activations (kernels/post_ops.h) on vectors of 16 lanes or of a register. `ceiling` is the activation's in every
// lane. With a constant kind the switch is resolved at compile time.

#include <cstdint>
#include <type_traits>

#include "kernels/cpu/vec16f.h"
#include "kernels/post_ops.h"

namespace cortado::kernels {

template <typename Vec>
Vec sigmoid(const Vec& v) {
  return 1.0f / (1.0f + exponential(-v));
}

/// Lane by lane, because erf has no vector version here. Few nets need it.
template <typename Vec>
Vec gelu(const Vec& v) {
  float lanes[sizeof(Vec) / sizeof(float)];
  store(lanes, v);
  for (float& value : lanes) value = Activation{Activation::kGelu}(value);
  return load<Vec>(lanes);
}

/// activated() for a kind that gates(); the code of the other kinds would slow such loops down.
template <typename Vec>
[[gnu::always_inline]] inline Vec gated(Activation::Kind kind, const Vec& ceiling, const Vec& v) {
  if (kind == Activation::kNone) return v;
  const Vec positive = larger(Vec{}, v);
  return kind == Activation::kRelu ? positive : smaller(positive, ceiling);
}

/// Activation::operator(); smooth activations are accurate to a few ulp.
template <typename Vec>
[[gnu::always_inline]] inline Vec activated(Activation::Kind kind, const Vec& ceiling, const Vec& v) {
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

/// Activation::passes() as bits.
inline uint16_t passing(const Vec16f& ceiling, const Vec16f& v) { return bits_between(v, Vec16f{}, ceiling); }
/// dy where the gradient passes, else 0.
inline Vec16f passed(const Vec16f& ceiling, const Vec16f& v, const Vec16f& dy) {
  return select((v > 0.0f) & (v < ceiling), dy, Vec16f{});
}

/// Calls use(kind) with the kind as a compile-time constant.
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

/// In place, on `places` x 16 lanes. For smooth activations, which need too many registers for a fused loop.
inline void activate_lanes(Activation::Kind kind, float* y, int64_t places) {
  with_activation(kind, [&](auto constant) {
    for (float* p = y; p != y + places * kLanes; p += kLanes) store(p, activated(constant, Vec16f{}, load(p)));
  });
}

}  // namespace cortado::kernels

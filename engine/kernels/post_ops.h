#pragma once

// Post-ops: operations that a kernel applies to each value of its result before writing it:
//     y = activation(affine(v) + z)
// Each part is optional; z is another operand with the shape of y. Graph passes use a PostOps to find fusions, and
// layers and kernels are created with it.
//
// A new activation requires its Kind, Activation's functions here, those of kernels/cpu/post_ops_lanes.h, and a layer
// that accepts it (docs/adding-a-layer.md).

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/host_device.h"
#include "kernels/channel_affine.h"

namespace cortado::kernels {

/// An element-wise activation. Plain data, so that functors can hold it on the CPU and on devices.
struct Activation {
  enum Kind : uint8_t {
    kNone,
    kRelu,         ///< max(v, 0)
    kClippedRelu,  ///< min(max(v, 0), ceiling)
    kSigmoid,      ///< 1 / (1 + e^-v)
    kSwish,        ///< v / (1 + e^-v)
    kGelu,         ///< v P(x < v) of the standard normal distribution
  };
  Kind kind = kNone;
  float ceiling = INFINITY;  ///< of kClippedRelu, > 0; infinite for the others

  static constexpr Activation relu() { return {kRelu, INFINITY}; }
  static constexpr Activation clipped_relu(float ceiling) { return {kClippedRelu, ceiling}; }

  /// The activation of v. NaN stays NaN, so that divergence is visible.
  CORTADO_HD float operator()(float v) const {
    switch (kind) {
      case kNone:
        break;
      case kRelu:
      case kClippedRelu:
        return v < 0 ? 0.0f : v > ceiling ? ceiling : v;
      case kSigmoid:
        return 1 / (1 + expf(-v));
      case kSwish:
        return v * (1 / (1 + expf(-v)));
      case kGelu:
        return v * (0.5f * erfcf(v * -0.70710678f));
    }
    return v;
  }

  /// Whether the derivative is 0 or 1, as passes() returns.
  constexpr bool gates() const {
    switch (kind) {
      case kNone:
      case kRelu:
      case kClippedRelu:
        return true;
      case kSigmoid:
      case kSwish:
      case kGelu:
        return false;
    }
    return false;
  }
  /// Whether f(0) = 0, so that padding lanes of blocks stay zero.
  constexpr bool keeps_zero() const { return kind != kSigmoid; }
  /// For activations with gates(): whether the gradient passes. The result is the same for v and for its y.
  CORTADO_HD bool passes(float v) const { return v > 0 && v < ceiling; }

  explicit operator bool() const { return kind != kNone; }
  bool operator==(const Activation&) const = default;
};

inline constexpr Activation::Kind kAllActivations[] = {Activation::kNone,        Activation::kRelu,
                                                       Activation::kClippedRelu, Activation::kSigmoid,
                                                       Activation::kSwish,       Activation::kGelu};

/// "relu", "relu6", "sigmoid"; "" for none. Stored in files.
std::string name_of(const Activation& activation);

/// Adds another operand of the result's shape.
struct SumOfTwo {
  bool operator==(const SumOfTwo&) const = default;
};

/// A single post-op.
using PostOp = std::variant<ChannelAffine, SumOfTwo, Activation>;

/// All post-ops, applied in the order of the fields.
struct PostOps {
  std::vector<ChannelAffine> affine = {};
  bool sum = false;
  Activation activation = {};

  /// Appends `next`; nullopt if it cannot follow the present ones.
  std::optional<PostOps> followed_by(const PostOp& next) const;
  bool empty() const { return *this == PostOps{}; }
  bool operator==(const PostOps&) const = default;
};

/// "affine, sum, relu6".
std::string to_text(const PostOps& post);

}  // namespace cortado::kernels

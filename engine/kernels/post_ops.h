#pragma once

// What is done to each value of a result before it is written, besides making it:
//     y = activation(affine(v) + z)
// Each part may be missing; z is another operand, like y. One value says which there are: graphs find out who may take
// over whose work by it, layers and kernels are made with it.
//
// A new activation costs its Kind, Activation's functions here, those of kernels/cpu/post_ops_lanes.h, and a layer that
// accepts it (docs/adding-a-layer.md).

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/host_device.h"
#include "kernels/channel_affine.h"

namespace cortado::kernels {

/// A function of one value. Plain data: functors of either device hold it.
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
  float ceiling = INFINITY;  ///< of kClippedRelu, above 0; the others have none

  static constexpr Activation relu() { return {kRelu, INFINITY}; }
  static constexpr Activation clipped_relu(float ceiling) { return {kClippedRelu, ceiling}; }

  /// What it makes of v. NaN stays NaN, so that a net which diverges says so.
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

  /// Whether backward is the gradient itself or 0, by passes().
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
  /// Whether 0 stays 0, so that lanes which pad blocks of channels stay clear.
  constexpr bool keeps_zero() const { return kind != kSigmoid; }
  /// Where there is one that gates(): whether it lets the gradient pass. The same asked of v and of the y made of it.
  CORTADO_HD bool passes(float v) const { return v > 0 && v < ceiling; }

  explicit operator bool() const { return kind != kNone; }
  bool operator==(const Activation&) const = default;
};

inline constexpr Activation::Kind kAllActivations[] = {Activation::kNone,        Activation::kRelu,
                                                       Activation::kClippedRelu, Activation::kSigmoid,
                                                       Activation::kSwish,       Activation::kGelu};

/// "relu", "relu6", "sigmoid"; "" for none. Files keep these words.
std::string name_of(const Activation& activation);

/// The sum of a result and another operand like it.
struct SumOfTwo {
  bool operator==(const SumOfTwo&) const = default;
};

/// One thing that may be done behind another.
using PostOp = std::variant<ChannelAffine, SumOfTwo, Activation>;

/// All that is done, in the order of these fields.
struct PostOps {
  std::vector<ChannelAffine> affine = {};
  bool sum = false;
  Activation activation = {};

  /// Nothing where `next` cannot stand behind what there is.
  std::optional<PostOps> followed_by(const PostOp& next) const;
  bool empty() const { return *this == PostOps{}; }
  bool operator==(const PostOps&) const = default;
};

/// "affine, sum, relu6".
std::string to_text(const PostOps& post);

}  // namespace cortado::kernels

#pragma once

// Fusions: work that a layer (the maker of a value) and the layer that reads the value share, so that one of them does
// less. Each layer lists the sides that it supports (Layer::fusions()). Where both list the same kind and the graph
// allows it, both get it in PrepareRequest::fusions (graph/passes/agree_fusions.cc). A new kind is a constant that two
// layers name.

#include <algorithm>
#include <string>
#include <vector>

#include "core/shape.h"
#include "kernels/batch_norm.h"
#include "kernels/post_ops.h"

namespace cortado {

struct FusionKind {
  std::string name;             ///< as in the list of passes to disable
  std::string help;             ///< one line
  bool before_storage = false;  ///< decided before the storage of values is chosen; the storage must then not change
                                ///< between the two layers
  bool in_backward = false;     ///< both layers run backward, and the reader computes a gradient of the value
  bool one_reader = false;      ///< the value must have no other reader
  bool sums_gradients = false;  ///< the reader leaves the sum of its two gradients to the maker: Operands::more_dy
  /// The shape of an additional operand of 32-bit floats: the maker's last y and the reader's last x. Null: none.
  Shape (*operand)(const Shape& value) = nullptr;
};

/// Factors and terms of each channel, or two sums of each channel.
inline Shape two_per_channel(const Shape& value) { return {2, value[1]}; }

/// The mode of a net. Frozen: its weights never change once they are set, and it has no backward.
enum class NetMode { kTraining, kFrozen };

/// What Layer::fusions() may depend on.
struct FusionQuery {
  const kernels::PostOps& post;  ///< the steps that the layer fuses
  NetMode mode;
  kernels::BatchNormFusions device;  ///< the fusions that the device's kernels support
};

/// One side of a fusion: the maker of y[0], or the reader of x[operand].
struct Fusion {
  enum Side { kMaker, kReader };

  const FusionKind* kind;
  Side side;
  size_t operand = 0;
  size_t added = 0;  ///< for an agreed fusion: the index of the kind's additional operand among y or x

  static Fusion maker(const FusionKind& kind) { return {&kind, kMaker}; }
  static Fusion reader(const FusionKind& kind, size_t operand = 0) { return {&kind, kReader, operand}; }
};

/// The matching entry of `list`, or null.
inline const Fusion* find_fusion(const std::vector<Fusion>& list, const FusionKind& kind, Fusion::Side side) {
  const auto found =
      std::ranges::find_if(list, [&](const Fusion& one) { return one.kind == &kind && one.side == side; });
  return found == list.end() ? nullptr : &*found;
}

/// All registered kinds, by name.
const std::vector<const FusionKind*>& all_fusion_kinds();

/// Registers a kind. Define it next to the kind.
struct RegisterFusion {
  explicit RegisterFusion(const FusionKind& kind);
};

}  // namespace cortado

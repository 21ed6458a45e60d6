#pragma once

// What the maker of a value and a reader of it may agree on beyond the value itself, so that one of them does less.
// Each says what it could do its part of (Layer::fusions()). Where both name a kind and the graph allows it, both are
// told (PrepareRequest::fusions): graph/passes/agree_fusions.cc. A new kind is a constant that two layers name.

#include <algorithm>
#include <string>
#include <vector>

#include "core/shape.h"
#include "kernels/batch_norm.h"
#include "kernels/post_ops.h"

namespace cortado {

struct FusionKind {
  std::string name;             ///< as lists of passes to switch off have it
  std::string help;             ///< what is done, in one line
  bool before_storage = false;  ///< agreed on before the storage of values is chosen: changes of it would lie between
  bool in_backward = false;     ///< both run backward, and the reader makes a gradient of the value
  bool one_reader = false;      ///< nothing else may read the value
  bool sums_gradients = false;  ///< the reader leaves the sum of its two gradients to the maker: Operands::more_dy
  /// The shape of a further operand of 32-bit floats, the maker's last y and the reader's last x, or null.
  Shape (*operand)(const Shape& value) = nullptr;
};

/// Factors and terms, or two sums, of each channel.
inline Shape two_per_channel(const Shape& value) { return {2, value[1]}; }

/// What a net is for. Frozen: its weights never change once they are set, and it has no backward.
enum class NetMode { kTraining, kFrozen };

/// What a layer goes by when it says which fusions it could be a side of.
struct FusionQuery {
  const kernels::PostOps& post;  ///< taken over
  NetMode mode;
  kernels::BatchNormFusions device;  ///< what the device's kernels do
};

/// One side of a fusion: of the y[0] that a layer makes, or of the x[operand] that it reads.
struct Fusion {
  enum Side { kMaker, kReader };

  const FusionKind* kind;
  Side side;
  size_t operand = 0;
  size_t added = 0;  ///< where it is agreed on: the kind's further operand among y or x

  static Fusion maker(const FusionKind& kind) { return {&kind, kMaker}; }
  static Fusion reader(const FusionKind& kind, size_t operand = 0) { return {&kind, kReader, operand}; }
};

/// The one of `list`, or null.
inline const Fusion* find_fusion(const std::vector<Fusion>& list, const FusionKind& kind, Fusion::Side side) {
  const auto found =
      std::ranges::find_if(list, [&](const Fusion& one) { return one.kind == &kind && one.side == side; });
  return found == list.end() ? nullptr : &*found;
}

/// The kinds that are looked for in every net, by name.
const std::vector<const FusionKind*>& all_fusion_kinds();

/// Adds one. Put it beside the kind.
struct RegisterFusion {
  explicit RegisterFusion(const FusionKind& kind);
};

}  // namespace cortado

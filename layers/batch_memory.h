#pragma once

#include <span>

namespace cortado {

/// What a layer may be besides a Layer: forward() leaves something for later passes, or outside of the net, even where
/// nothing runs backward, so that the batches of a test all have to come to this one object, in their order. Neither a
/// place in the data (DataCursor) nor draws by the number of a pass are such a thing.
class BatchMemory {
 public:
  virtual ~BatchMemory() = default;
  /// Whether this one does, by its options; known before infer().
  virtual bool remembers_batches() const { return true; }
  /// The values that forward() leaves for the next pass besides weights, where the context computes; none if there are
  /// no such values. Known after prepare(). Snapshots hold them.
  virtual std::span<float> carried() { return {}; }
};

}  // namespace cortado

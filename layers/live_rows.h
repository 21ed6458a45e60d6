#pragma once

#include <vector>

#include "core/shape.h"

namespace cortado {

/// What a layer is, besides a Layer, whose number of rows only the values of a pass tell. infer() gives the most there can
/// be. graph/live_layer.h has it and all that reads its tops run on the rows that there are.
class LiveRows {
 public:
  virtual ~LiveRows() = default;
  /// The shapes of y after forward(), which has set the rest of y to 0: the same axes, not more rows.
  virtual std::vector<Shape> live_shapes() const = 0;
};

}  // namespace cortado

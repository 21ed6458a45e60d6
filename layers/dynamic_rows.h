#pragma once

#include <vector>

#include "core/shape.h"

namespace cortado {

/// What a layer is, besides a Layer, whose number of rows only the values of a pass tell. infer() gives the most there
/// can be. graph/dynamic_rows_layer.h has it and all that reads its tops run on the rows that there are.
class DynamicRows {
 public:
  virtual ~DynamicRows() = default;
  /// False where this one's rows are always as many as infer() said. Asked after infer().
  virtual bool rows_vary() const { return true; }
  /// The shapes of y after forward(), which has set the rest of y to 0: the same axes, not more rows.
  virtual std::vector<Shape> current_shapes() const = 0;
};

}  // namespace cortado

#pragma once

// Layers that select rows of several bottoms on the host, the first of which are regions R x 5 (common/regions.h).

#include <cstdint>
#include <vector>

#include "core/device/host_view.h"
#include "layers/layer.h"

namespace cortado {

/// Throws FieldError unless x[first] is R x 5 and all later ones have R rows.
void require_region_rows(const std::vector<Shape>& x, size_t first);

/// The shapes with `rows` rows.
inline std::vector<Shape> with_rows(std::vector<Shape> shapes, int64_t rows) {
  for (Shape& shape : shapes) shape[0] = rows;
  return shapes;
}

/// Writes the picked rows of x to y, then zeros.
void copy_rows(Context& context, const Tensor& x, const std::vector<int64_t>& picked, HostStage& stage,
               const Tensor& y);

}  // namespace cortado

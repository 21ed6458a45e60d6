#pragma once

// Regions of images (regions of interest), for the layers that pool their features: R x 5. A row is the index of the
// image in the batch and two corners in its pixels. An invalid row (an image outside the batch, a NaN corner) makes its
// part of y NaN and gets no gradient; validate() reports it.

#include <cmath>
#include <string>

#include "core/box.h"
#include "layers/layer.h"

namespace cortado {

struct Regions {
  const float* rows;
  int64_t count, images;

  CORTADO_HD const float* row(int64_t r) const { return rows + 5 * r; }
  CORTADO_HD bool valid(int64_t r) const {
    const float* v = row(r);
    return v[0] > -1 && v[0] < float(images) && fabsf(v[1]) < INFINITY && fabsf(v[2]) < INFINITY &&
           fabsf(v[3]) < INFINITY && fabsf(v[4]) < INFINITY;
  }
  /// -1: the row is invalid.
  CORTADO_HD int64_t image(int64_t r) const { return valid(r) ? int64_t(row(r)[0]) : -1; }
  CORTADO_HD Box box(int64_t r) const {
    const float* v = row(r);
    return {v[1], v[2], v[3], v[4]};
  }
};

/// Throws UnfitRows: bottom[`bottom`], which has this shape, does not have regions.
[[noreturn]] void throw_not_regions(const Shape& shape, size_t bottom);

/// Maps regions to features: the factor of their corners, and the fraction of their sides by which they grow on each
/// side before that, including the last pixel (MS-CNN).
struct RegionScale {
  float scale = 1, pad_ratio = 0;
  CORTADO_HD Box padded(const Box& box) const {
    const float pad_w = pad_ratio * box_width(box, 1), pad_h = pad_ratio * box_height(box, 1);
    return {box.x0 - pad_w, box.y0 - pad_h, box.x1 + pad_w, box.y1 + pad_h};
  }
};

/// Throws FieldError(field + ".spatial_scale" or ".pad_ratio") for an invalid number.
void require_scale(const RegionScale& scale, const std::string& field);

/// Indices along an axis.
struct PlaceRange {
  int64_t begin, end;
};

/// Sums the gradient of one plane of the features in one thread, because regions overlap. add(r, channel, plane) adds
/// the gradient of region r of the plane's image.
template <typename Add>
struct RegionGradient {
  float* dx;
  Regions regions;
  int64_t channels, area;
  Add add;
  CORTADO_HD void operator()(int64_t, int64_t plane) const {
    const int64_t image = plane / channels, channel = plane % channels;
    float* to = dx + plane * area;
    for (int64_t i = 0; i < area; ++i) to[i] = 0;
    for (int64_t r = 0; r < regions.count; ++r)
      if (regions.image(r) == image) add(r, channel, to);
  }
};

/// The base of such layers: bottoms features N x C x H x W and regions, one top, a gradient for the features only.
class RegionLayer : public Layer {
 public:
  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {false, true};
    return needs;
  }
  bool differentiable(int i) const override { return i == 0; }
  /// Throws Error(kData) at the first invalid row.
  void validate(Context& context, const Operands& io) override;

 protected:
  /// Throws FieldError unless x has these shapes.
  static void require_regions(const std::vector<Shape>& x);
  static Regions regions(const Operands& io) { return {io.x[1].f32(), io.x[1].shape()[0], io.x[0].shape()[0]}; }
};

}  // namespace cortado

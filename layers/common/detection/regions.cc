#include "layers/common/detection/regions.h"

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/unfit_rows.h"

namespace cortado {

void throw_not_regions(const Shape& shape, size_t bottom) {
  throw UnfitRows(bottom, "its shape is " + shape.str() + ", but regions are R x 5",
                  "each row is the index of an image in the batch and the left, top, right and bottom of a region");
}

void require_scale(const RegionScale& scale, const std::string& field) {
  if (!(scale.scale > 0 && std::isfinite(scale.scale)))
    throw FieldError(field + ".spatial_scale", "it is " + to_text(scale.scale) + ", but must be above 0",
                     "set 1 / the stride of the features in pixels of the image");
  if (!(scale.pad_ratio >= 0 && std::isfinite(scale.pad_ratio)))
    throw FieldError(field + ".pad_ratio", "it is " + to_text(scale.pad_ratio) + ", but must not be below 0",
                     "set the fraction of their sides by which regions grow");
}

void RegionLayer::require_regions(const std::vector<Shape>& x) {
  if (x[0].axes() != 4 || x[0].count(1) == 0)
    throw FieldError("bottom[0]",
                     "its shape is " + x[0].str() + ", but features must be N x C x H x W, without empty axes");
  if (x[0].count(2) > INT32_MAX)
    throw FieldError("bottom[0]", "its shape is " + x[0].str() + ": a channel has more than 2^31 - 1 values");
  if (x[1].axes() < 2 || x[1].count(1) != 5) throw_not_regions(x[1], 1);
}

void RegionLayer::validate(Context& context, const Operands& io) {
  Regions found = regions(io);
  const HostView rows(context, found.rows, 5 * found.count);
  found.rows = rows.data();
  for (int64_t r = 0; r < found.count; ++r) {
    if (found.valid(r)) continue;
    const float* v = found.row(r);
    throw Error(ExitCode::kData,
                "region " + std::to_string(r) + " is image " + to_text(v[0]) + " from (" + to_text(v[1]) + ", " +
                    to_text(v[2]) + ") to (" + to_text(v[3]) + ", " + to_text(v[4]) + ")",
                "images of this batch are numbered from 0 to " + std::to_string(found.images - 1) +
                    ", and corners are finite numbers");
  }
}

}  // namespace cortado

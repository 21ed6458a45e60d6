#include "layers/common/loops/broadcast.h"

#include "core/error.h"
#include "layers/common/shape_rules.h"

namespace cortado {

namespace {

Broadcast of_bottom(const std::vector<Shape>& x, int axis) {
  bool fits = axis + x[1].axes() <= x[0].axes();
  for (int i = 0; fits && i < x[1].axes(); ++i) fits = x[1][i] == x[0][axis + i];
  if (!fits)
    throw FieldError(
        "bottom[1]",
        "its shape " + x[1].str() + " does not match bottom[0], " + x[0].str() + ", from axis " + std::to_string(axis),
        "its extents must equal those of bottom[0]; an extent of 1 is not broadcast");
  return {axis, x[1]};
}

}  // namespace

Broadcast broadcast_of(const std::vector<Shape>& x, int64_t axis, int64_t num_axes, const std::string& options) {
  if (num_axes < -1)
    throw FieldError(options + ".num_axes", "num_axes is " + std::to_string(num_axes) + ", but must be -1 or more",
                     "-1 is all axes that follow");
  // A scalar matches any x, even without axes.
  const bool scalar = x.size() > 1 ? x[1].axes() == 0 : num_axes == 0;
  const int first = scalar && x[0].axes() == 0 ? 0 : axis_of(x[0], axis, options + ".axis");
  if (x.size() > 1) return of_bottom(x, first);
  const int64_t end = num_axes < 0 ? x[0].axes() : first + num_axes;
  if (end > x[0].axes())
    throw FieldError(options + ".num_axes", std::to_string(num_axes) + " axes from axis " + std::to_string(first) +
                                                " are more than bottom[0] has: its shape is " + x[0].str());
  const std::vector<int64_t>& dims = x[0].dims();
  return {first, Shape(std::vector<int64_t>(dims.begin() + first, dims.begin() + end))};
}

}  // namespace cortado

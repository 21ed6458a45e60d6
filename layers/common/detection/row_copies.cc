#include "layers/common/detection/row_copies.h"

#include <algorithm>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/detection/regions.h"

namespace cortado {

void require_region_rows(const std::vector<Shape>& x, size_t first) {
  const Shape& regions = x[first];
  if (regions.axes() < 2 || regions.count(1) != 5) throw_not_regions(regions, first);
  for (size_t i = first + 1; i < x.size(); ++i)
    if (x[i].axes() < 1 || x[i][0] != regions[0])
      throw FieldError(entry("bottom", int64_t(i)),
                       "its shape is " + x[i].str() + ", but there are " + std::to_string(regions[0]) + " regions",
                       "each region needs a row");
}

void copy_rows(Context& context, const Tensor& x, const std::vector<int64_t>& picked, HostStage& stage,
               const Tensor& y) {
  const HostView from(context, x.f32(), x.count());
  const int64_t width = x.shape().count(1), count = y.count();
  float* to = stage.begin(context, y.f32(), count);
  float* next = to;
  for (const int64_t r : picked) next = std::copy_n(from.data() + r * width, width, next);
  std::fill(next, to + count, 0.0f);
  stage.commit(context);
}

}  // namespace cortado

#include "data/augment/label_map.h"

#include <algorithm>
#include <cmath>

namespace cortado::data {

namespace {

/// The index among `labels` of a position in a side of `pixels`; -1 outside.
int label_at(double position, int pixels, int labels) {
  const double share = (position + 0.5) / pixels;
  return share >= 0 && share < 1 ? std::min(int(share * labels), labels - 1) : -1;
}

}  // namespace

void carry_labels(const AugmentParams& params, const Sample& labels, const LabelMapPlan& plan,
                  std::vector<int16_t>& carried) {
  constexpr double kPixel = 4294967296.0;
  const int rows = plan.rows(params.out_height), columns = plan.columns(params.out_width);
  carried.clear();
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < columns; ++k) {
      const double y = (i + 0.5) * params.out_height / rows - 0.5, x = (k + 0.5) * params.out_width / columns - 0.5;
      const auto place = [&](const int64_t* map) {
        return (double(map[0]) * x + double(map[1]) * y + double(map[2])) / kPixel;
      };
      const int row = label_at(place(params.map + 3), params.height, labels.height),
                column = label_at(place(params.map), params.width, labels.width);
      const bool inside = row >= 0 && column >= 0;
      carried.push_back(inside ? int16_t(labels.bytes[size_t(row) * size_t(labels.width) + size_t(column)]) : kNoLabel);
    }
}

}  // namespace cortado::data

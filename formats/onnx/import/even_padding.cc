#include "onnx/import/even_padding.h"

#include <algorithm>

#include "core/error.h"

namespace cortado::importing {

namespace {

constexpr int64_t kMostZeros = 64;  ///< rows that an axis of filters may grow by

/// The filters with `front` and `back` rows of zeros along `axis`.
BlobFile widened(const BlobFile& filters, int axis, int64_t front, int64_t back) {
  Shape shape = filters.shape;
  shape[axis] += front + back;
  BlobFile out{shape, std::vector<float>(size_t(shape.count()), 0)};
  const int64_t row = filters.shape.count(axis + 1), rows = filters.shape[axis] * row, to_rows = shape[axis] * row;
  for (int64_t i = 0; i < filters.shape.count(0, axis); ++i)
    std::copy_n(filters.data.begin() + i * rows, rows, out.data.begin() + i * to_rows + front * row);
  return out;
}

}  // namespace

EvenPadding make_even(const Padding& padding, const BlobFile& filters, const std::vector<int64_t>& dilations) {
  EvenPadding even{{}, filters};
  for (size_t i = 0; i < padding.before.size(); ++i) {
    const int64_t before = padding.before[i], behind = padding.behind[i], more = std::abs(before - behind);
    even.pad.push_back(std::max(before, behind));
    if (more == 0) continue;
    if (more % dilations[i] != 0 || more / dilations[i] > kMostZeros)
      throw FieldError("", "it pads " + std::to_string(before) + " before and " + std::to_string(behind) +
                               " behind, which no layer does");
    const int64_t zeros = more / dilations[i];
    even.filters = widened(even.filters, int(i) + 2, behind > before ? zeros : 0, behind > before ? 0 : zeros);
  }
  return even;
}

}  // namespace cortado::importing

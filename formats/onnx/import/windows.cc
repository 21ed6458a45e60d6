#include "onnx/import/windows.h"

#include <algorithm>

#include "core/error.h"

namespace cortado::importing {

namespace {

std::vector<int64_t> numbers(const NodeReader& node, const std::string& name, size_t axes, int64_t absent,
                             int64_t least) {
  const std::vector<int64_t> list = node.integers(name, std::vector<int64_t>(axes, absent));
  if (list.size() != axes)
    node.fail("its " + name + " has " + std::to_string(list.size()) + " values, not " + std::to_string(axes));
  for (const int64_t one : list)
    if (one < least || one > INT32_MAX) node.fail(name + " of " + std::to_string(one) + " is out of range");
  return list;
}

/// Pads for SAME: as many windows as strides in the input. An odd padding has the extra row at the end or, with
/// `before`, the begin.
void pad_to_same(Window& window, const Shape& x, bool before) {
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const int64_t in = x[int(i) + 2], extent = window.dilations[i] * (window.kernel[i] - 1) + 1;
    const int64_t out = (in + window.strides[i] - 1) / window.strides[i];
    const int64_t missing = std::max<int64_t>(0, (out - 1) * window.strides[i] + extent - in);
    window.padding.before.push_back(before ? missing - missing / 2 : missing / 2);
    window.padding.behind.push_back(missing - window.padding.before[i]);
  }
}

}  // namespace

Window read_window(const NodeReader& node, const Shape& x, const std::vector<int64_t>& kernel) {
  const size_t axes = kernel.size();
  if (x.axes() != int(axes) + 2)
    node.fail("kernel_shape has " + std::to_string(axes) + " axes, but its input has shape " + x.str());
  for (const int64_t one : kernel)
    if (one < 1 || one > INT32_MAX) node.fail("kernel_shape of " + std::to_string(one) + " is out of range");
  Window window{kernel, numbers(node, "strides", axes, 1, 1), numbers(node, "dilations", axes, 1, 1), {}};
  const std::string same = node.text("auto_pad", "NOTSET");
  if (same == "SAME_UPPER" || same == "SAME_LOWER") {
    pad_to_same(window, x, same == "SAME_LOWER");
    return window;
  }
  if (same != "NOTSET" && same != "VALID") node.fail("auto_pad '" + same + "' is unknown");
  std::vector<int64_t> pads = numbers(node, "pads", 2 * axes, 0, 0);
  if (same == "VALID") pads.assign(2 * axes, 0);
  window.padding.before.assign(pads.begin(), pads.begin() + int64_t(axes));
  window.padding.behind.assign(pads.begin() + int64_t(axes), pads.end());
  return window;
}

void set_option(google::protobuf::RepeatedField<uint32_t>& option, const std::vector<int64_t>& values, int64_t absent) {
  const bool one = std::equal(values.begin() + 1, values.end(), values.begin());
  if (one && values[0] == absent) return;
  for (size_t i = 0; i < (one ? 1 : values.size()); ++i) option.Add(uint32_t(values[i]));
}

void add_padding(Padding& padding, const Padding& more) {
  for (size_t i = 0; i < padding.before.size(); ++i) {
    padding.before[i] += more.before[i];
    padding.behind[i] += more.behind[i];
  }
}

namespace {

constexpr int64_t kMaxZeros = 64;  ///< maximum number of rows added to an axis of filters

/// Adds `front` and `back` rows of zeros along `axis` to the filters.
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

bool can_be_even(const Padding& padding, const std::vector<int64_t>& dilations) {
  for (size_t i = 0; i < dilations.size(); ++i)
    if ((padding.before[i] - padding.behind[i]) % dilations[i] != 0) return false;
  return true;
}

EvenPadding make_even(const Padding& padding, const BlobFile& filters, const std::vector<int64_t>& dilations) {
  EvenPadding even{{}, filters};
  for (size_t i = 0; i < padding.before.size(); ++i) {
    const int64_t before = padding.before[i], behind = padding.behind[i], more = std::abs(before - behind);
    even.pad.push_back(std::max(before, behind));
    if (more == 0) continue;
    if (more / dilations[i] > kMaxZeros)
      throw FieldError("", "padding of " + std::to_string(before) + " before and " + std::to_string(behind) +
                               " after the input is not supported");
    const int64_t zeros = more / dilations[i];
    even.filters = widened(even.filters, int(i) + 2, behind > before ? zeros : 0, behind > before ? 0 : zeros);
  }
  return even;
}

}  // namespace cortado::importing

// Max and average pooling. A layer pads both ends of an axis equally, and rounds the number of windows up or down on
// all axes. The rounding that yields the model's number of windows is chosen; if none does, or windows are dilated,
// other layers compose the pooling.
#include <algorithm>
#include <limits>

#include "layers/common/windows/pool_window.h"
#include "onnx/import/arithmetic.h"
#include "onnx/import/composing.h"
#include "onnx/import/table.h"
#include "onnx/import/windows.h"

namespace cortado::importing {

namespace {

/// The number of windows of the model along an axis.
int64_t windows_of(const Window& window, size_t axis, int64_t in, bool up) {
  const int64_t before = window.padding.before[axis], stride = window.strides[axis];
  const int64_t room =
      in + before + window.padding.behind[axis] - (window.dilations[axis] * (window.kernel[axis] - 1) + 1);
  if (room < 0) return 0;
  const int64_t out = (room + (up ? stride - 1 : 0)) / stride + 1;
  return up && (out - 1) * stride >= in + before ? out - 1 : out;
}

/// Whether the layer has the same number of windows with this padding on both ends.
bool counts_alike(const Window& window, const Shape& x, bool model_up, bool up) {
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const int64_t in = x[int(i) + 2];
    if (number_of_windows(in, window.kernel[i], window.strides[i], window.padding.before[i], up) !=
        windows_of(window, i, in, model_up))
      return false;
  }
  return true;
}

void set_pooling_window(caffe::PoolingParameter& param, const Window& window, bool up) {
  if (!up) param.set_round_mode(caffe::PoolingParameter::FLOOR);
  const auto &kernel = window.kernel, &strides = window.strides, &pads = window.padding.before;
  if (kernel.size() == 3) {
    for (size_t i = 0; i < 3; ++i) {
      param.add_kernel_size_3d(uint32_t(kernel[i]));
      param.add_stride_3d(uint32_t(strides[i]));
      param.add_pad_3d(uint32_t(pads[i]));
    }
    return;
  }
  const auto set = [&](const std::vector<int64_t>& list, auto set_both, auto set_h, auto set_w) {
    if (list[0] == list[1]) return (param.*set_both)(uint32_t(list[0]));
    (param.*set_h)(uint32_t(list[0]));
    (param.*set_w)(uint32_t(list[1]));
  };
  using Param = caffe::PoolingParameter;
  set(kernel, &Param::set_kernel_size, &Param::set_kernel_h, &Param::set_kernel_w);
  if (strides != std::vector<int64_t>{1, 1})
    set(strides, &Param::set_stride, &Param::set_stride_h, &Param::set_stride_w);
  if (pads != std::vector<int64_t>{0, 0}) set(pads, &Param::set_pad, &Param::set_pad_h, &Param::set_pad_w);
}

/// Sequences, N x C x L, as images of one row.
struct Image {
  Blob x;
  bool was_sequence = false;
};

Image as_image(NodeReader& node, const Blob& x) {
  if (x.shape.axes() != 3) return {x};
  return {node.reshaped(x, {0, 0, 1, -1}), true};
}

/// Adds the last layer, and the sequence's shape after it.
void finish_image(NodeReader& node, const Image& image, caffe::LayerParameter layer) {
  if (!image.was_sequence) return node.finish(std::move(layer), {image.x});
  node.finish_reshaped(node.add(std::move(layer), {image.x}), {0, 0, -1});
}

/// The same windows over an image of one row.
Window of_image(Window window) {
  window.kernel.insert(window.kernel.begin(), 1);
  window.strides.insert(window.strides.begin(), 1);
  window.dilations.insert(window.dilations.begin(), 1);
  window.padding.before.insert(window.padding.before.begin(), 0);
  window.padding.behind.insert(window.padding.behind.begin(), 0);
  return window;
}

bool is_dilated(const Window& window) {
  return std::ranges::any_of(window.dilations, [](int64_t dilation) { return dilation != 1; });
}

/// Sets the windows of a Pooling layer; false if no rounding matches the model's windows.
bool set_pool(const Window& window, const Shape& x, bool model_up, caffe::LayerParameter& layer) {
  if (is_dilated(window) || (x.axes() != 4 && x.axes() != 5)) return false;
  for (const bool up : {model_up, !model_up}) {
    if (!counts_alike(window, x, model_up, up)) continue;
    set_pooling_window(*layer.mutable_pooling_param(), window, up);
    return true;
  }
  return false;
}

/// The positions of values from which all windows of an axis take the one with offset `k`.
std::vector<int64_t> places_of(const Window& window, size_t axis, int64_t windows, int64_t k) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < windows; ++i) places.push_back(i * window.strides[axis] + k * window.dilations[axis]);
  return places;
}

/// The maximum along one axis after another: pads with minus infinity, and takes the maximum of the values that all
/// windows have at the same offset.
Blob largest_in_windows(NodeReader& node, Blob x, const Window& window, bool up) {
  constexpr int64_t kMaxKernel = 256;
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const int axis = int(i) + 2;
    const int64_t kernel = window.kernel[i], before = window.padding.before[i],
                  windows = windows_of(window, i, x.shape[axis], up);
    if (windows < 1 || kernel > kMaxKernel) node.fail("windows of " + std::to_string(kernel) + " are not supported");
    const int64_t end = (windows - 1) * window.strides[i] + (kernel - 1) * window.dilations[i] + 1;
    const int64_t behind = std::max<int64_t>(0, end - before - x.shape[axis]);
    x = surrounded(node, x, axis, before, behind, -std::numeric_limits<float>::infinity());
    std::vector<Blob> parts;
    for (int64_t k = 0; k < kernel; ++k) parts.push_back(gathered(node, x, axis, places_of(window, i, windows, k)));
    caffe::LayerParameter most = NodeReader::layer("Eltwise");
    most.mutable_eltwise_param()->set_operation(caffe::EltwiseParameter::MAX);
    x = parts.size() == 1 ? parts[0] : node.add(most, parts);
  }
  return x;
}

void read_max_pool(NodeReader& node) {
  if (node.has_output(1)) node.fail("the second output, the indices of maxima, is not supported");
  const Blob x = node.x(0);
  const Window window = read_window(node, x.shape, node.integers("kernel_shape"));
  const bool up = node.integer("ceil_mode", 0) != 0;
  caffe::LayerParameter layer = NodeReader::layer("Pooling");
  const Image image = as_image(node, x);
  if (set_pool(image.was_sequence ? of_image(window) : window, image.x.shape, up, layer))
    return finish_image(node, image, layer);
  node.set(0, largest_in_windows(node, x, window, up));
}

/// How many values each window of an axis averages: those in the input, or in the padded input if padding counts.
std::vector<double> values_in_windows(NodeReader& node, const Window& window, size_t axis, int64_t in, bool counts,
                                      bool up) {
  const int64_t before = window.padding.before[axis], behind = window.padding.behind[axis], low = counts ? -before : 0,
                high = in + (counts ? behind : 0);
  std::vector<double> numbers;
  for (int64_t i = 0; i < windows_of(window, axis, in, up); ++i) {
    double number = 0;
    for (int64_t k = 0; k < window.kernel[axis]; ++k) {
      const int64_t place = i * window.strides[axis] - before + k * window.dilations[axis];
      number += place >= low && place < high;
    }
    if (number == 0) node.fail("a window averages no values");
    numbers.push_back(number);
  }
  return numbers;
}

/// Sums of windows by filters of ones, divided by the number of values in each.
void finish_average_by_sums(NodeReader& node, Blob x, const Window& window, bool counts) {
  const bool up = node.integer("ceil_mode", 0) != 0;
  const Shape in = x.shape;
  std::vector<int64_t> dims = {in[1], 1}, extents;
  std::vector<float> factors = {1};
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const int64_t windows = windows_of(window, i, in[int(i) + 2], up), before = window.padding.before[i];
    if (windows < 1) node.fail("the windows are larger than the input");
    if (windows > kMaxFolded / window.kernel[i]) node.fail("averages of so many values are not supported");
    const int64_t end = (windows - 1) * window.strides[i] + (window.kernel[i] - 1) * window.dilations[i] + 1;
    x = surrounded(node, x, int(i) + 2, before, std::max<int64_t>(0, end - before - in[int(i) + 2]), 0);
    x = node.sliced(x, int(i) + 2, 0, end);
    dims.push_back(window.kernel[i]);
    extents.push_back(windows);
    std::vector<float> both;
    for (const float factor : factors)
      for (const double number : values_in_windows(node, window, i, in[int(i) + 2], counts, up))
        both.push_back(float(double(factor) / number));
    if (int64_t(both.size()) > kMaxFolded) node.fail("averages of so many windows are not supported");
    factors = std::move(both);
  }
  caffe::LayerParameter sum = NodeReader::layer("Convolution");
  auto& param = *sum.mutable_convolution_param();
  param.set_num_output(uint32_t(in[1]));
  param.set_group(uint32_t(in[1]));
  param.set_bias_term(false);
  set_option(*param.mutable_kernel_size(), window.kernel, 0);
  set_option(*param.mutable_stride(), window.strides, 1);
  set_option(*param.mutable_dilation(), window.dilations, 1);
  const Shape filters(dims);
  if (filters.count() > kMaxFolded) node.fail("windows of shape " + filters.str() + " are not supported");
  const Blob sums = node.add(sum, {x}, {weight_of(filters, std::vector<float>(size_t(filters.count()), 1))});
  node.finish(combined(node, sums, Constant{.shape = Shape(extents), .floats = factors}, true));
}

/// If padding counts, it is the same as zeros around the input.
void read_average_pool(NodeReader& node) {
  std::optional<Padding> around;
  Blob x = node.x(0, around);
  Window window = read_window(node, x.shape, node.integers("kernel_shape"));
  const auto is_zero = [](const std::vector<int64_t>& list) {
    return std::all_of(list.begin(), list.end(), [](int64_t one) { return one == 0; });
  };
  const bool pads = !is_zero(window.padding.before) || !is_zero(window.padding.behind),
             up = node.integer("ceil_mode", 0) != 0;
  const bool counts = node.integer("count_include_pad", 0) != 0 || !pads;
  if (around && counts && !up) {
    add_padding(window.padding, *around);
  } else if (around) {
    x = node.padded(x, *around);
  }
  caffe::LayerParameter layer = NodeReader::layer("Pooling");
  layer.mutable_pooling_param()->set_pool(caffe::PoolingParameter::AVE);
  if (!counts) layer.mutable_pooling_param()->set_avg_include_pad(false);
  const Image image = as_image(node, x);
  const bool uneven = counts && window.padding.before != window.padding.behind;
  if (!uneven && set_pool(image.was_sequence ? of_image(window) : window, image.x.shape, up, layer))
    return finish_image(node, image, layer);
  finish_average_by_sums(node, x, window, counts);
}

void finish_global(NodeReader& node, bool average) {
  const Blob x = node.x(0);
  if (x.shape.axes() < 3) node.fail("an input of shape " + x.shape.str() + " has no spatial axes");
  caffe::LayerParameter layer = NodeReader::layer("Pooling");
  if (average) layer.mutable_pooling_param()->set_pool(caffe::PoolingParameter::AVE);
  layer.mutable_pooling_param()->set_global_pooling(true);
  if (x.shape.axes() == 4) return node.finish(layer, {x});
  std::vector<int64_t> target(size_t(x.shape.axes()), 1);
  target[0] = target[1] = 0;
  node.finish_reshaped(node.add(layer, {node.reshaped(x, {0, 0, 1, -1})}), target);
}

void read_global_average(NodeReader& node) { finish_global(node, true); }
void read_global_max(NodeReader& node) { finish_global(node, false); }

}  // namespace

void add_poolings(Table& table) {
  table.insert({{"MaxPool", read_max_pool},
                {"AveragePool", read_average_pool},
                {"GlobalAveragePool", read_global_average},
                {"GlobalMaxPool", read_global_max}});
}

}  // namespace cortado::importing

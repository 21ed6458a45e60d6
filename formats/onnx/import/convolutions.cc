#include <algorithm>

#include "onnx/import/composing.h"
#include "onnx/import/table.h"
#include "onnx/import/windows.h"

namespace cortado::importing {

namespace {

void set_window(caffe::ConvolutionParameter& param, const Window& window, const EvenPadding& even) {
  const auto& dims = even.filters.shape.dims();
  set_option(*param.mutable_kernel_size(), {dims.begin() + 2, dims.end()}, 0);
  set_option(*param.mutable_pad(), even.pad, 0);
  set_option(*param.mutable_stride(), window.strides, 1);
  set_option(*param.mutable_dilation(), window.dilations, 1);
}

/// The filters and the optional bias.
std::vector<BlobFile> weights_with(NodeReader& node, const BlobFile& filters) {
  std::vector<BlobFile> weights = {filters};
  if (!node.has_input(2)) return weights;
  const ConstantPtr terms = node.constant(2, "the bias");
  weights.push_back(weight_of(terms->shape, terms->as_floats()));
  return weights;
}

BlobFile filters_of(NodeReader& node, const Blob& x) {
  const ConstantPtr filters = node.constant(1, "the filters");
  if (filters->shape.axes() != x.shape.axes() || x.shape.axes() < 3)
    node.fail("filters of shape " + filters->shape.str() + " do not match an input of " + x.shape.str());
  return weight_of(filters->shape, filters->as_floats());
}

void read_conv(NodeReader& node) {
  std::optional<Padding> around;
  Blob x = node.x(0, around);
  const BlobFile filters = filters_of(node, x);
  const std::vector<int64_t> kernel(filters.shape.dims().begin() + 2, filters.shape.dims().end());
  Window window = read_window(node, x.shape, kernel);
  if (around) add_padding(window.padding, *around);
  if (!can_be_even(window.padding, window.dilations)) {
    x = node.padded(x, window.padding);
    window.padding = {std::vector<int64_t>(kernel.size(), 0), std::vector<int64_t>(kernel.size(), 0)};
  }
  const EvenPadding even = make_even(window.padding, filters, window.dilations);
  caffe::LayerParameter layer = NodeReader::layer("Convolution");
  auto& param = *layer.mutable_convolution_param();
  param.set_num_output(uint32_t(filters.shape[0]));
  const int64_t groups = node.integer("group", 1);
  if (groups != 1) param.set_group(uint32_t(groups));
  if (!node.has_input(2)) param.set_bias_term(false);
  set_window(param, window, even);
  node.finish(layer, {x}, weights_with(node, even.filters));
}

/// The padding of a ConvTranspose, by which its result is smaller than that without padding. The padding after the
/// input has `output_padding` subtracted, so that it may be negative.
Padding transposed_padding(NodeReader& node, const Shape& x, const Window& window) {
  const size_t axes = window.kernel.size();
  const std::vector<int64_t> more = node.integers("output_padding", std::vector<int64_t>(axes, 0)),
                             wanted = node.integers("output_shape");
  const std::string same = node.text("auto_pad", "NOTSET");
  const bool gives_shape = !wanted.empty() || same == "SAME_UPPER" || same == "SAME_LOWER";
  if (more.size() != axes || (!wanted.empty() && wanted.size() != axes))
    node.fail("the numbers of axes of output_padding or output_shape and of kernel_shape differ");
  Padding padding = window.padding;
  for (size_t i = 0; i < axes; ++i) {
    if (more[i] < 0 || more[i] > INT32_MAX) node.fail("output_padding is out of range");
    if (gives_shape) {
      const int64_t in = x[int(i) + 2],
                    whole = (in - 1) * window.strides[i] + more[i] + (window.kernel[i] - 1) * window.dilations[i] + 1;
      const int64_t out = wanted.empty() ? in * window.strides[i] : wanted[i];
      if (out < 1 || out > INT32_MAX) node.fail("output_shape is out of range");
      const int64_t all = std::max<int64_t>(0, whole - out);
      padding.before[i] = same == "SAME_UPPER" ? all / 2 : all - all / 2;
      padding.behind[i] = whole - out - padding.before[i];
    }
    padding.behind[i] -= more[i];
  }
  return padding;
}

/// Whether a Deconvolution layer pads alike: the same at both ends.
bool is_even(const Padding& padding) {
  return padding.before == padding.behind && std::ranges::all_of(padding.before, [](int64_t pad) { return pad >= 0; });
}

/// Removes the padding from a result without padding; where it is negative, adds zeros.
Blob without_padding(NodeReader& node, Blob y, const Padding& padding) {
  for (size_t i = 0; i < padding.before.size(); ++i) {
    const int axis = int(i) + 2;
    const int64_t end = y.shape[axis] - std::max<int64_t>(0, padding.behind[i]);
    if (padding.before[i] >= end) node.fail("the padding leaves nothing of the result");
    y = node.sliced(y, axis, padding.before[i], end);
    y = surrounded(node, y, axis, 0, std::max<int64_t>(0, -padding.behind[i]), 0);
  }
  return y;
}

void read_conv_transpose(NodeReader& node) {
  const Blob x = node.x(0);
  const BlobFile filters = filters_of(node, x);
  const std::vector<int64_t> kernel(filters.shape.dims().begin() + 2, filters.shape.dims().end());
  const Window window = read_window(node, x.shape, kernel);
  const Padding padding = transposed_padding(node, x.shape, window);
  const bool even = is_even(padding), has_bias = node.has_input(2);
  const int64_t groups = node.integer("group", 1);
  caffe::LayerParameter layer = NodeReader::layer("Deconvolution");
  auto& param = *layer.mutable_convolution_param();
  param.set_num_output(uint32_t(filters.shape[1] * groups));
  if (groups != 1) param.set_group(uint32_t(groups));
  if (!has_bias || !even) param.set_bias_term(false);
  set_window(param, window, {even ? padding.before : std::vector<int64_t>(kernel.size(), 0), filters});
  if (even) return node.finish(layer, {x}, weights_with(node, filters));
  const Blob y = without_padding(node, node.add(layer, {x}, {filters}), padding);
  if (!has_bias) return node.set(0, y);
  const ConstantPtr terms = node.constant(2, "the bias");
  caffe::LayerParameter bias = NodeReader::layer("Bias");
  node.finish(bias, {y}, {weight_of(terms->shape, terms->as_floats())});
}

}  // namespace

void add_convolutions(Table& table) { table.insert({{"Conv", read_conv}, {"ConvTranspose", read_conv_transpose}}); }

}  // namespace cortado::importing

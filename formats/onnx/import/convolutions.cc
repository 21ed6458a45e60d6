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
  const Blob x = node.x(0, around);
  const BlobFile filters = filters_of(node, x);
  const std::vector<int64_t> kernel(filters.shape.dims().begin() + 2, filters.shape.dims().end());
  Window window = read_window(node, x.shape, kernel);
  if (around) add_padding(window.padding, *around);
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

/// `output_padding` is subtracted from the end padding.
void read_conv_transpose(NodeReader& node) {
  const Blob x = node.x(0);
  const BlobFile filters = filters_of(node, x);
  const std::vector<int64_t> kernel(filters.shape.dims().begin() + 2, filters.shape.dims().end());
  if (node.has("output_shape") || node.text("auto_pad", "NOTSET") != "NOTSET")
    node.fail("output_shape and auto_pad are not supported", "use pads and output_padding");
  Window window = read_window(node, x.shape, kernel);
  const std::vector<int64_t> more = node.integers("output_padding", std::vector<int64_t>(kernel.size(), 0));
  if (more.size() != kernel.size()) node.fail("the numbers of axes of output_padding and of kernel_shape differ");
  for (size_t i = 0; i < kernel.size(); ++i) window.padding.behind[i] -= more[i];
  const EvenPadding even = make_even(window.padding, filters, window.dilations);
  for (const int64_t pad : even.pad)
    if (pad < 0) node.fail("output_padding is larger than the end padding");
  const int64_t groups = node.integer("group", 1);
  caffe::LayerParameter layer = NodeReader::layer("Deconvolution");
  auto& param = *layer.mutable_convolution_param();
  param.set_num_output(uint32_t(filters.shape[1] * groups));
  if (groups != 1) param.set_group(uint32_t(groups));
  if (!node.has_input(2)) param.set_bias_term(false);
  set_window(param, window, even);
  node.finish(layer, {x}, weights_with(node, even.filters));
}

}  // namespace

void add_convolutions(Table& table) { table.insert({{"Conv", read_conv}, {"ConvTranspose", read_conv_transpose}}); }

}  // namespace cortado::importing

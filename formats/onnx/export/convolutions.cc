// Convolutions and transposed convolutions. Caffe and ONNX store filters in the same order.
#include "layers/common/windows/conv_window.h"
#include "layers/common/windows/volume_options.h"
#include "layers/types/depthwise_convolution.h"
#include "onnx/export/table.h"

namespace cortado::exporting {

namespace {

Attributes attributes_of(const std::vector<kernels::ConvAxis>& axes, int64_t groups) {
  std::vector<int64_t> kernel, strides, dilations, pads;
  for (const kernels::ConvAxis& axis : axes) {
    kernel.push_back(axis.kernel);
    strides.push_back(axis.stride);
    dilations.push_back(axis.dilation);
    pads.push_back(axis.pad);
  }
  const std::vector<int64_t> once = pads;
  pads.insert(pads.end(), once.begin(), once.end());
  return {{"kernel_shape", kernel}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"group", groups}};
}

/// Each bottom has a top; all share the weights. Intel's `relu` is a node after it.
void write(LayerWriter& layer, const std::string& op, const caffe::ConvolutionParameter& options,
           const ConvWindow& window) {
  if (window.channel_axis(layer.x[0].shape, "bottom[0]") != 1)
    layer.refuse("the channel axis is not 1", {}, "convolution_param.axis");
  const Attributes attributes = attributes_of(window.axes_for(layer.x[0].shape, "bottom[0]"), options.group());
  std::vector<std::string> weights = {layer.weight(0)};
  if (options.bias_term()) weights.push_back(layer.weight(1));
  for (size_t i = 0; i < layer.x.size(); ++i) {
    Operation conv = {op, {layer.x[i].name}, attributes};
    conv.inputs.insert(conv.inputs.end(), weights.begin(), weights.end());
    layer.finish(options.relu() ? Operation{"Relu", {layer.add(conv)}} : conv, i);
  }
}

void write_of_images(LayerWriter& layer, const std::string& op) {
  const auto& options = layer.config.convolution_param();
  write(layer, op, options, ConvWindow(options));
}

void write_convolution(LayerWriter& layer) { write_of_images(layer, "Conv"); }
void write_deconvolution(LayerWriter& layer) { write_of_images(layer, "ConvTranspose"); }

void write_depthwise(LayerWriter& layer) {
  caffe::ConvolutionParameter options = depthwise_options(layer.config);
  fill_in_depthwise(options, layer.x[0].shape[1]);
  write(layer, "Conv", options, ConvWindow(options));
}

void write_of_volumes(LayerWriter& layer, const std::string& op) {
  const VolumeConvolution volume = read_volume_convolution(layer.config);
  write(layer, op, volume.options, ConvWindow::of_volumes(volume.options, volume.message));
}

void write_convolution3d(LayerWriter& layer) { write_of_volumes(layer, "Conv"); }
void write_deconvolution3d(LayerWriter& layer) { write_of_volumes(layer, "ConvTranspose"); }

}  // namespace

void add_convolutions(Table& table) {
  table.insert({{"Convolution", write_convolution},
                {"DepthwiseConvolution", write_depthwise},
                {"ConvolutionDepthwise", write_depthwise},
                {"Deconvolution", write_deconvolution},
                {"Convolution3D", write_convolution3d},
                {"Deconvolution3D", write_deconvolution3d}});
}

}  // namespace cortado::exporting

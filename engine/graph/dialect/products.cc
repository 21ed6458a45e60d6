// Convolutions, products and others that the dialect has under another name or with other options.
#include <algorithm>

#include "graph/dialect/job.h"
#include "graph/dialect/rare.h"
#include "layers/common/windows/volume_options.h"
#include "layers/types/depthwise_convolution.h"

namespace cortado::dialect {

namespace {

/// A layer with the options, rates and weights of the one that it replaces.
caffe::LayerParameter as_type(const Job& job, const std::string& type) {
  caffe::LayerParameter layer = job.layer();
  layer.set_type(type);
  layer.clear_bottom();
  layer.clear_top();
  layer.clear_include();
  layer.clear_exclude();
  return layer;
}

Blob with_relu(Job& job, const Blob& y, bool relu, float slope) {
  if (!relu) return y;
  caffe::LayerParameter layer = layer_of("ReLU");
  if (slope != 0) layer.mutable_relu_param()->set_negative_slope(slope);
  return job.add(std::move(layer), {y});
}

void refuse_more_bottoms(const Job& job) {
  if (job.bottoms().size() != 1) job.refuse("it has several bottoms");
}

Blob compose_convolution(Job& job) {
  refuse_more_bottoms(job);
  caffe::LayerParameter layer = as_type(job, job.layer().type());
  caffe::ConvolutionParameter& param = *layer.mutable_convolution_param();
  const bool relu = param.relu();
  const float slope = param.negative_slope();
  param.clear_relu();
  param.clear_negative_slope();
  if (param.hole_size() > 0 && param.dilation_size() == 0) param.mutable_dilation()->Swap(param.mutable_hole());
  if (param.has_hole_h() || param.has_hole_w()) {
    for (const uint32_t hole : {param.hole_h(), param.hole_w()}) param.add_dilation(std::max(hole, 1u));
    param.clear_hole_h();
    param.clear_hole_w();
  }
  const std::string lacks = job.lacking(layer);
  if (!lacks.empty()) job.refuse("no composition has " + lacks);
  return with_relu(job, job.add_own(std::move(layer), {job.x()}), relu, slope);
}

/// An InnerProduct with a later axis than the first, as a Convolution: all axes before it become samples, and it
/// becomes the channels.
Blob product_along_axis(Job& job) {
  const caffe::InnerProductParameter& given = job.layer().inner_product_param();
  const Shape& shape = job.x().shape;
  const int axis = shape.canonical_axis(given.axis());
  caffe::LayerParameter layer = as_type(job, "Convolution");
  layer.clear_inner_product_param();
  caffe::ConvolutionParameter& param = *layer.mutable_convolution_param();
  param.set_num_output(given.num_output());
  if (!given.bias_term()) param.set_bias_term(false);
  param.add_kernel_size(1);
  const Blob rows = job.reshape(job.x(), {shape.count(0, axis), shape.count(axis), 1, 1});
  return job.reshape(job.add_own(std::move(layer), {rows}), job.y());
}

Blob compose_inner_product(Job& job) {
  caffe::LayerParameter layer = as_type(job, "InnerProduct");
  caffe::InnerProductParameter& param = *layer.mutable_inner_product_param();
  const bool relu = param.relu();
  const float slope = param.negative_slope();
  param.clear_relu();
  param.clear_negative_slope();
  if (!relu && is_rare(job.layer(), {job.x().shape}, true)) return product_along_axis(job);
  return with_relu(job, job.add_own(std::move(layer), {job.x()}), relu, slope);
}

Blob compose_depthwise(Job& job) {
  refuse_more_bottoms(job);
  caffe::LayerParameter layer = as_type(job, "Convolution");
  caffe::ConvolutionParameter& param = *layer.mutable_convolution_param();
  param = depthwise_options(job.layer());
  fill_in_depthwise(param, job.x().shape[1]);
  return job.add_own(std::move(layer), {job.x()});
}

Blob of_volumes(Job& job, const std::string& type) {
  refuse_more_bottoms(job);
  caffe::LayerParameter layer = as_type(job, type);
  *layer.mutable_convolution_param() = read_volume_convolution(job.layer()).options;
  layer.clear_convolution3d_param();
  return job.add_own(std::move(layer), {job.x()});
}

Blob compose_convolution3d(Job& job) { return of_volumes(job, "Convolution"); }
Blob compose_deconvolution3d(Job& job) { return of_volumes(job, "Deconvolution"); }

/// y = a x + z, with a factor for each channel.
Blob compose_axpy(Job& job) {
  const Blob factor = job.x(0).shape.axes() > 2 ? unary(job, "Flatten", job.x(0)) : job.x(0);
  return job.add(layer_of("Eltwise"), {scaled_rows(job, job.x(1), factor), job.x(2)});
}

/// In inference a Dropout copies, unless training does not scale.
Blob compose_dropout(Job& job) {
  job.require_inference();
  const caffe::DropoutParameter& param = job.layer().dropout_param();
  if (param.sample_weights_test()) job.refuse("it draws at random");
  return power(job, job.x(), param.scale_train() ? 1 : 1 - param.dropout_ratio(), 0);
}

Blob compose_spatial_dropout(Job& job) {
  job.require_inference();
  return job.x();
}

Blob compose_voxel_softmax(Job& job) { return job.add(as_type(job, "Softmax"), {job.x()}); }

}  // namespace

void add_products(Compositions& table) {
  table.insert({{"Convolution", compose_convolution},
                {"Deconvolution", compose_convolution},
                {"InnerProduct", compose_inner_product},
                {"DepthwiseConvolution", compose_depthwise},
                {"ConvolutionDepthwise", compose_depthwise},
                {"Convolution3D", compose_convolution3d},
                {"Deconvolution3D", compose_deconvolution3d},
                {"VoxelSoftmax", compose_voxel_softmax},
                {"Axpy", compose_axpy},
                {"Dropout", compose_dropout},
                {"SpatialDropout", compose_spatial_dropout}});
}

}  // namespace cortado::dialect

#include "graph/dialect/job.h"

#include <algorithm>

#include "graph/dialect/fit.h"
#include "graph/dialect/rewriter.h"
#include "graph/dialect/table.h"

namespace cortado::dialect {

Job::Job(Rewriter& rewriter, const caffe::LayerParameter& layer, std::vector<Blob> x, std::vector<Shape> y,
         const std::vector<BlobFile>* weights)
    : rewriter_(rewriter), layer_(layer), x_(std::move(x)), y_(std::move(y)), weights_(weights) {}

const BlobFile& Job::weight(size_t i) const {
  if (!weights_) refuse("its composition has weights", "name the weights of the net, too: --weights=FILE");
  if (i >= weights_->size()) refuse("the weights file has no weight " + std::to_string(i) + " for it");
  return (*weights_)[i];
}

bool Job::has_field(std::string_view message, std::string_view field) const {
  return dialect::has_field(rewriter_.target(), message, field);
}

std::string Job::lacking(caffe::LayerParameter layer) const { return fit_layer(layer, rewriter_.target()); }

Blob Job::add(caffe::LayerParameter layer, const std::vector<Blob>& bottoms, std::vector<BlobFile> weights) {
  return rewriter_.emit(*this, std::move(layer), bottoms, 1, {std::move(weights)}).at(0);
}

Blob Job::add_own(caffe::LayerParameter layer, const std::vector<Blob>& bottoms) {
  return rewriter_.emit(*this, std::move(layer), bottoms, 1, {weights_ ? *weights_ : std::vector<BlobFile>(), true})
      .at(0);
}

std::vector<Blob> Job::add_all(caffe::LayerParameter layer, const std::vector<Blob>& bottoms, int tops) {
  return rewriter_.emit(*this, std::move(layer), bottoms, tops, {});
}

Blob Job::reshape(const Blob& x, const Shape& shape, int open) {
  if (x.shape == shape) return x;
  caffe::LayerParameter layer = layer_of("Reshape");
  for (int axis = 0; axis < shape.axes(); ++axis)
    layer.mutable_reshape_param()->mutable_shape()->add_dim(axis == open ? -1 : shape[axis]);
  return add(std::move(layer), {x});
}

int Job::batch_axis(const Blob& x) const { return rewriter_.batch_axis(x.name); }
const BatchOf& Job::batch() const { return rewriter_.batch(); }

void Job::refuse(const std::string& reason, const std::string& hint) const { throw FieldError("", reason, hint); }

void Job::require_inference() const {
  if (rewriter_.trains()) refuse("its composition is for inference only", "use a deploy net: `cortado deploy`");
}

void Job::warn(const std::string& text) { rewriter_.warn(layer_.name(), text); }

std::vector<float> values(const Job& job, int64_t count, float value) {
  if (count > int64_t(1) << 24) job.refuse("its composition has a weight of more than 2^24 values");
  return std::vector<float>(size_t(count), value);
}

BlobFile filled(const Job& job, const Shape& shape, float value) { return {shape, values(job, shape.count(), value)}; }

caffe::LayerParameter layer_of(const std::string& type) {
  caffe::LayerParameter layer;
  layer.set_type(type);
  return layer;
}

Blob power(Job& job, const Blob& x, float scale, float shift, float exponent) {
  caffe::LayerParameter layer = layer_of("Power");
  caffe::PowerParameter& param = *layer.mutable_power_param();
  if (exponent != 1) param.set_power(exponent);
  if (scale != 1) param.set_scale(scale);
  if (shift != 0) param.set_shift(shift);
  return job.add(std::move(layer), {x});
}

Blob unary(Job& job, const std::string& type, const Blob& x) { return job.add(layer_of(type), {x}); }

Blob product(Job& job, const std::vector<Blob>& factors) {
  caffe::LayerParameter layer = layer_of("Eltwise");
  layer.mutable_eltwise_param()->set_operation(caffe::EltwiseParameter::PROD);
  return job.add(std::move(layer), factors);
}

Blob squared(Job& job, const Blob& x) { return product(job, {x, x}); }

Blob scaled_rows(Job& job, const Blob& x, const Blob& factor) {
  caffe::LayerParameter layer = layer_of("Scale");
  layer.mutable_scale_param()->set_axis(0);
  return job.add(std::move(layer), {x, factor});
}

Blob affine(Job& job, const Blob& x, int axis, const BlobFile& factor, const BlobFile* term) {
  caffe::LayerParameter layer = layer_of("Scale");
  caffe::ScaleParameter& param = *layer.mutable_scale_param();
  int64_t count = 1;
  int axes = 0;
  while (count < int64_t(factor.data.size()) && axis + axes < x.shape.axes()) count *= x.shape[axis + axes++];
  if (axis != 1) param.set_axis(axis);
  if (std::max(axes, 1) != 1) param.set_num_axes(axes);
  if (term) param.set_bias_term(true);
  return job.add(std::move(layer), {x}, term ? std::vector<BlobFile>{factor, *term} : std::vector<BlobFile>{factor});
}

Blob along_axis(Job& job, const Blob& x, int axis, const BlobFile& matrix) {
  const int64_t in = x.shape[axis], out = matrix.shape[0], before = x.shape.count(0, axis),
                after = x.shape.count(axis + 1);
  if (axis == x.shape.axes() - 1) {
    caffe::LayerParameter layer = layer_of("InnerProduct");
    caffe::InnerProductParameter& param = *layer.mutable_inner_product_param();
    param.set_num_output(uint32_t(out));
    param.set_bias_term(false);
    param.set_axis(axis);
    return job.add(std::move(layer), {x}, {matrix});
  }
  caffe::LayerParameter layer = layer_of("Convolution");
  caffe::ConvolutionParameter& param = *layer.mutable_convolution_param();
  param.set_num_output(uint32_t(out));
  param.set_bias_term(false);
  param.add_kernel_size(1);
  const Blob as_channels = axis == 1 && x.shape.axes() == 4 ? x : job.reshape(x, {before, in, after, 1});
  Shape y = x.shape;
  y[axis] = out;
  return job.reshape(job.add(std::move(layer), {as_channels}, {matrix}), y);
}

void set_window(caffe::ConvolutionParameter& param, const FixedWindow& window) {
  const auto set = [&](const int64_t(&list)[2], int64_t absent, auto add, auto set_h, auto set_w) {
    if (list[0] == absent && list[1] == absent) return;
    if (list[0] == list[1]) return (param.*add)(uint32_t(list[0]));
    (param.*set_h)(uint32_t(list[0]));
    (param.*set_w)(uint32_t(list[1]));
  };
  using Param = caffe::ConvolutionParameter;
  set(window.kernel, 0, &Param::add_kernel_size, &Param::set_kernel_h, &Param::set_kernel_w);
  set(window.stride, 1, &Param::add_stride, &Param::set_stride_h, &Param::set_stride_w);
  set(window.pad, 0, &Param::add_pad, &Param::set_pad_h, &Param::set_pad_w);
}

void name_both_extents(caffe::ConvolutionParameter& param) {
  using List = google::protobuf::RepeatedField<uint32_t>;
  const auto name = [](List& list, auto set_h, auto set_w, caffe::ConvolutionParameter& of) {
    if (list.size() != 2) return;
    if (list[0] == list[1]) return list.Truncate(1);
    (of.*set_h)(list[0]);
    (of.*set_w)(list[1]);
    list.Clear();
  };
  using Param = caffe::ConvolutionParameter;
  name(*param.mutable_kernel_size(), &Param::set_kernel_h, &Param::set_kernel_w, param);
  name(*param.mutable_stride(), &Param::set_stride_h, &Param::set_stride_w, param);
  name(*param.mutable_pad(), &Param::set_pad_h, &Param::set_pad_w, param);
}

Blob by_channel(Job& job, const std::string& type, const Blob& x, const FixedWindow& window,
                const std::vector<float>& filter) {
  const int64_t channels = x.shape[1];
  caffe::LayerParameter layer = layer_of(type);
  caffe::ConvolutionParameter& param = *layer.mutable_convolution_param();
  param.set_num_output(uint32_t(channels));
  param.set_bias_term(false);
  param.set_group(uint32_t(channels));
  set_window(param, window);
  BlobFile weights{{channels, 1, window.kernel[0], window.kernel[1]}, {}};
  weights.data = values(job, weights.shape.count(), 0);
  for (size_t i = 0; i < weights.data.size(); ++i) weights.data[i] = filter[i % filter.size()];
  return job.add(std::move(layer), {x}, {std::move(weights)});
}

std::vector<std::string> target_names() {
  std::vector<std::string> names = {"own"};
  for (const auto& [name, target] : all_targets()) names.push_back(name);
  return names;
}

std::optional<Target> target_named(const std::string& name) {
  if (name == "own") return std::nullopt;
  for (const auto& [known, target] : all_targets())
    if (name == known) return target;
  throw Error(ExitCode::kUsage, "--dialect=" + name + " is unknown", "use own, bvlc, ssd or nvcaffe");
}

WeightsTarget weights_form(Target target) {
  return {.dialect = target == Target::kNvcaffe ? Dialect::kNvidia : Dialect::kBvlc};
}

}  // namespace cortado::dialect

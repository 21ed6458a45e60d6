// Layers that classic Caffe has, but that many readers of its language lack: Bias, Reduction, and Scale with two
// bottoms or with factors for other axes than the channels; also InnerProduct with another axis (products.cc). Where
// the weights are known, an inference net has layers instead that all readers have.
#include "graph/dialect/rare.h"

#include "graph/dialect/job.h"

namespace cortado::dialect {

namespace {

/// A blob whose axes are the first ones of x, with its elements repeated along the others.
Blob repeated(Job& job, const Blob& rows, const Shape& x) {
  const int64_t times = x.count() / rows.shape.count();
  if (times == 1) return job.reshape(rows, x);
  const Blob column = job.reshape(rows, {x[0], rows.shape.count(1), 1});
  return job.reshape(along_axis(job, column, 2, filled(job, {times, 1}, 1)), x);
}

Blob sum(Job& job, const std::vector<Blob>& terms) { return job.add(layer_of("Eltwise"), terms); }

/// The axes that the factors belong to become the channels.
Blob scaled_as_channels(Job& job) {
  const Shape& shape = job.x().shape;
  const int axis = shape.canonical_axis(job.layer().scale_param().axis());
  const int64_t before = shape.count(0, axis), count = job.weight(0).shape.count();
  caffe::LayerParameter layer = layer_of("Scale");
  layer.mutable_scale_param()->set_bias_term(job.layer().scale_param().bias_term());
  std::vector<BlobFile> weights;
  for (size_t i = 0; i < job.weight_count(); ++i) weights.push_back(job.weight(i));
  const Blob x = job.reshape(job.x(), {before, count, shape.count() / (before * count), 1});
  return job.reshape(job.add(std::move(layer), {x}, std::move(weights)), shape);
}

Blob compose_scale(Job& job) {
  if (job.bottoms().size() == 1) return scaled_as_channels(job);
  return product(job, {job.x(0), repeated(job, job.x(1), job.x(0).shape)});
}

Blob compose_bias(Job& job) {
  if (job.bottoms().size() == 2) return sum(job, {job.x(0), repeated(job, job.x(1), job.x(0).shape)});
  const BlobFile& term = job.weight(0);
  if (term.data.size() == 1) return power(job, job.x(), 1, term.data[0]);
  const int axis = job.x().shape.canonical_axis(job.layer().bias_param().axis());
  return affine(job, job.x(), axis, filled(job, term.shape, 1), &term);
}

Blob compose_reduction(Job& job) {
  const caffe::ReductionParameter& param = job.layer().reduction_param();
  const Shape& shape = job.x().shape;
  const int axis = shape.canonical_axis(param.axis());
  const int64_t count = shape.count(axis);
  Blob x = job.x();
  if (param.operation() == caffe::ReductionParameter::ASUM) x = unary(job, "AbsVal", x);
  if (param.operation() == caffe::ReductionParameter::SUMSQ) x = squared(job, x);
  const bool mean = param.operation() == caffe::ReductionParameter::MEAN;
  const float factor = mean ? param.coeff() / float(count) : param.coeff();
  const Blob rows = job.reshape(x, {shape[0], shape.count(1, axis), count});
  return job.reshape(along_axis(job, rows, 2, filled(job, {1, count}, factor)), job.y());
}

}  // namespace

bool is_rare(const caffe::LayerParameter& layer, const std::vector<Shape>& x, bool has_weights) {
  if (layer.top_size() != 1 || x[0].axes() == 0 || x[0].count() == 0) return false;
  const bool two = x.size() == 2 && x[1].axes() > 0;
  if (layer.type() == "Scale") {
    const caffe::ScaleParameter& param = layer.scale_param();
    if (two) return param.axis() == 0 && !param.bias_term();
    const int axis = x[0].canonical_axis(param.axis());
    return has_weights && (axis > 1 || (axis == 1 && param.num_axes() != 1));
  }
  if (layer.type() == "InnerProduct") {
    const caffe::InnerProductParameter& param = layer.inner_product_param();
    return has_weights && x[0].canonical_axis(param.axis()) > 1 && !param.transpose();
  }
  if (layer.type() == "Bias") return two ? layer.bias_param().axis() == 0 : has_weights;
  return layer.type() == "Reduction" && x[0].canonical_axis(layer.reduction_param().axis()) > 0;
}

void add_rare(Compositions& table) {
  table.insert({{"Scale", compose_scale}, {"Bias", compose_bias}, {"Reduction", compose_reduction}});
}

}  // namespace cortado::dialect

// Normalizations. Caffe's MVN adds eps to the deviation, these layers to the variance. So MVN only subtracts the mean;
// squares, their average and a Power make 1 / sqrt(variance + eps), and Scale applies it to each row.

#include "graph/dialect/job.h"
#include "layers/common/weights/normalize_form.h"
#include "proto/upgrade/bn_form.h"
#include "proto/weights/batch_norm_form.h"

namespace cortado::dialect {

namespace {

/// x is rows x parts x elements x 1; 1 / sqrt(factor * mean of x^2 + eps) of each part, rows x parts.
Blob inverse_norm(Job& job, const Blob& x, float factor, float eps) {
  caffe::LayerParameter mean = layer_of("Pooling");
  mean.mutable_pooling_param()->set_pool(caffe::PoolingParameter::AVE);
  mean.mutable_pooling_param()->set_global_pooling(true);
  const Blob squares = job.add(std::move(mean), {squared(job, x)});
  return unary(job, "Flatten", power(job, squares, factor, eps, -0.5f));
}

/// x, which is rows x parts x ..., with each part normalized to mean 0 and variance 1.
Blob normalized(Job& job, const Blob& x, int64_t rows, int64_t parts, float eps) {
  const Blob flat = job.reshape(x, {rows, parts, x.shape.count() / (rows * parts), 1});
  caffe::LayerParameter mvn = layer_of("MVN");
  mvn.mutable_mvn_param()->set_normalize_variance(false);
  const Blob centered = job.add(std::move(mvn), {flat});
  return job.reshape(scaled_rows(job, centered, inverse_norm(job, centered, 1, eps)), x.shape);
}

Blob with_affine(Job& job, const Blob& y, bool affine_too, int axis) {
  return affine_too ? affine(job, y, axis, job.weight(0), &job.weight(1)) : y;
}

Blob compose_layer_norm(Job& job) {
  const caffe::LayerNormParameter& param = job.layer().layer_norm_param();
  const int axis = job.x().shape.canonical_axis(param.axis());
  const Blob y = normalized(job, job.x(), job.x().shape.count(0, axis), 1, param.eps());
  return with_affine(job, y, param.affine(), axis);
}

Blob compose_instance_norm(Job& job) {
  const caffe::InstanceNormParameter& param = job.layer().instance_norm_param();
  const Shape& shape = job.x().shape;
  return with_affine(job, normalized(job, job.x(), shape[0], shape[1], param.eps()), param.affine(), 1);
}

Blob compose_group_norm(Job& job) {
  const caffe::GroupNormParameter& param = job.layer().group_norm_param();
  const Blob y = normalized(job, job.x(), job.x().shape[0], param.group(), param.eps());
  return with_affine(job, y, param.affine(), 1);
}

/// 1x1 filters of ones: the sum of all channels, `copies` times.
Blob channel_sum(Job& job, const Blob& x, int64_t copies) {
  return along_axis(job, x, 1, {{copies, x.shape[1]}, values(job, copies * x.shape[1], 1)});
}

/// The learned scale of a Normalize for each channel.
BlobFile scale_by_channel(Job& job, int64_t channels) {
  BlobFile scale = job.weight(0);
  if (scale.data.size() == 1) scale.data = values(job, channels, scale.data[0]);
  return {{channels}, scale.data};
}

Blob compose_normalize(Job& job) {
  const NormalizeForm form = normalize_form(job.layer());
  if (form.absolute) job.refuse("its norm is the sum of absolute values");
  const caffe::NormalizeParameter& param = form.options;
  const Blob& x = job.x();
  const int64_t samples = x.shape[0], channels = x.shape[1];
  Blob y;
  if (param.across_spatial()) {
    const Blob flat = job.reshape(x, {samples, 1, x.shape.count(1), 1});
    y = scaled_rows(job, flat, inverse_norm(job, flat, float(x.shape.count(1)), param.eps()));
  } else {
    const Blob flat = job.reshape(x, {samples, channels, x.shape.count(2), 1});
    const Blob sums = channel_sum(job, squared(job, flat), 1);
    y = product(job, {flat, channel_sum(job, power(job, sums, 1, param.eps(), -0.5f), channels)});
  }
  y = job.reshape(y, x.shape);
  return form.scales ? affine(job, y, 1, scale_by_channel(job, channels), nullptr) : y;
}

Blob batch_normalized(Job& job, const BlobFile& mean, const BlobFile& variance, const BlobFile& factor, float eps) {
  caffe::LayerParameter layer = layer_of("BatchNorm");
  if (eps != layer.batch_norm_param().eps()) layer.mutable_batch_norm_param()->set_eps(eps);
  layer.mutable_batch_norm_param()->set_use_global_stats(true);
  return job.add(std::move(layer), {job.x()}, {mean, variance, factor});
}

Blob compose_bn(Job& job) {
  job.require_inference();
  const caffe::BNParameter& param = job.layer().bn_param();
  const BnForm form = form_of(job.layer());
  if (form == BnForm::kBatch) job.refuse("it uses the statistics of each batch");
  if (form == BnForm::kStored) return affine(job, job.x(), 1, job.weight(0), &job.weight(1));
  const float eps = param.has_var_eps() ? param.var_eps() : param.eps();
  const Blob y = batch_normalized(job, job.weight(2), job.weight(3), {{1}, {1}}, eps);
  return affine(job, y, 1, job.weight(0), &job.weight(1));
}

/// A BatchNorm with a scale: NVIDIA's or Intel's.
Blob compose_batch_norm(Job& job) {
  job.require_inference();
  const caffe::BatchNormParameter& param = job.layer().batch_norm_param();
  const BatchNormForm form = cortado::form_of(param);
  if (param.stats_batch_size() > 0) job.refuse("its statistics are of parts of a batch");
  if (!form.nvidia && param.has_use_global_stats() && !param.use_global_stats())
    job.refuse("it uses the statistics of each batch");
  Blob y = batch_normalized(job, job.weight(0), job.weight(1), job.weight(2), form.eps);
  if (form.scales) y = affine(job, y, 1, job.weight(3), form.shifts ? &job.weight(4) : nullptr);
  return param.relu() ? unary(job, "ReLU", y) : y;
}

}  // namespace

void add_norms(Compositions& table) {
  table.insert({{"LayerNorm", compose_layer_norm},
                {"InstanceNorm", compose_instance_norm},
                {"GroupNorm", compose_group_norm},
                {"Normalize", compose_normalize},
                {"BN", compose_bn},
                {"SyncBN", compose_bn},
                {"BatchNorm", compose_batch_norm}});
}

}  // namespace cortado::dialect

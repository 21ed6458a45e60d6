// Activations. A limit is a ReLU of the distance to it: max(x, l) = relu(x - l) + l, min(x, l) = l - relu(l - x).
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "graph/dialect/job.h"

namespace cortado::dialect {

namespace {

/// Limits up to this lose no more than a few roundings of themselves in l - (l - x).
constexpr float kSmallLimit = 128;

/// max(x, low), exactly: the larger one of x and a constant of its shape.
Blob at_least_exactly(Job& job, const Blob& x, float low) {
  caffe::LayerParameter layer = layer_of("Eltwise");
  layer.mutable_eltwise_param()->set_operation(caffe::EltwiseParameter::MAX);
  return job.add(std::move(layer), {x, power(job, x, 0, low)});
}

Blob at_least(Job& job, const Blob& x, float low) {
  if (!std::isfinite(low) || low == std::numeric_limits<float>::lowest()) return x;
  if (low == 0) return unary(job, "ReLU", x);
  if (std::abs(low) > kSmallLimit) return at_least_exactly(job, x, low);
  return power(job, unary(job, "ReLU", power(job, x, 1, -low)), 1, low);
}

/// min(x, high) of values that are at least `low`.
Blob at_most(Job& job, const Blob& x, float low, float high) {
  if (!std::isfinite(high) || high == std::numeric_limits<float>::max()) return x;
  if (std::abs(low) > kSmallLimit || std::abs(high) > kSmallLimit)
    return power(job, at_least_exactly(job, power(job, x, -1, 0), -high), -1, 0);
  return power(job, unary(job, "ReLU", power(job, x, -1, high)), -1, high);
}

Blob limited(Job& job, const Blob& x, float low, float high) { return at_most(job, at_least(job, x, low), low, high); }

Blob compose_clip(Job& job) {
  const caffe::ClipParameter& param = job.layer().clip_param();
  return limited(job, job.x(), param.min(), param.max());
}

/// A negative slope removes the lower limit.
Blob compose_relu6(Job& job) {
  const float slope = job.layer().relu_param().negative_slope();
  if (slope == 0) return limited(job, job.x(), 0, 6);
  caffe::LayerParameter relu = layer_of("ReLU");
  relu.mutable_relu_param()->set_negative_slope(slope);
  const Blob y = job.add(std::move(relu), {job.x()});
  return power(job, at_least_exactly(job, power(job, y, -1, 0), -6), -1, 0);
}

Blob compose_hard_sigmoid(Job& job) {
  const caffe::HardSigmoidParameter& param = job.layer().hard_sigmoid_param();
  return limited(job, power(job, job.x(), param.alpha(), param.beta()), 0, 1);
}

Blob compose_hard_swish(Job& job) {
  return product(job, {job.x(), limited(job, power(job, job.x(), 1 / 6.0f, 0.5f), 0, 1)});
}

Blob compose_swish(Job& job) {
  const float beta = job.layer().swish_param().beta();
  const Blob inner = beta == 1 ? job.x() : power(job, job.x(), beta, 0);
  return product(job, {job.x(), unary(job, "Sigmoid", inner)});
}

Blob compose_mish(Job& job) { return product(job, {job.x(), unary(job, "TanH", unary(job, "BNLL", job.x()))}); }

/// The sum of c[i] square^i.
Blob polynomial(Job& job, const Blob& square, const std::vector<float>& c) {
  Blob sum = power(job, square, c.back(), c[c.size() - 2]);
  for (size_t i = c.size() - 2; i > 0; --i) sum = power(job, product(job, {sum, square}), 1, c[i - 1]);
  return sum;
}

/// x (1 + tanh(x p(x^2))) / 2. For GELU by tanh p is sqrt(2 / pi) (1 + 0.044715 x^2). For GELU by erf p approximates
/// atanh(erf(x / sqrt(2))) / x: the polynomial whose largest error of y, 3.1e-6, is the smallest of this degree. It is
/// above 0 for all x.
Blob compose_gelu(Job& job) {
  constexpr float kFactor = 0.79788456f, kCubic = 0.044715f;
  const bool approximate = job.layer().gelu_param().approximate();
  if (!approximate) job.warn("GELU by erf becomes a polynomial and TanH, which differ from it by up to 4e-6");
  const std::vector<float> by_tanh = {kFactor, kFactor * kCubic};
  const std::vector<float> by_erf = {0.79782814f, 0.036468791f, -1.2486166e-4f, -3.0581002e-5f, 1.1190820e-6f};
  const Blob factor = polynomial(job, squared(job, job.x()), approximate ? by_tanh : by_erf);
  const Blob t = unary(job, "TanH", product(job, {job.x(), factor}));
  return product(job, {job.x(), power(job, t, 0.5f, 0.5f)});
}

/// The factor of SELU.
Blob compose_elu(Job& job) {
  caffe::LayerParameter elu = job.layer();
  elu.clear_bottom();
  elu.clear_top();
  elu.mutable_elu_param()->clear_lambda();
  return power(job, job.add(std::move(elu), {job.x()}), job.layer().elu_param().lambda(), 0);
}

Blob compose_log_softmax(Job& job) {
  caffe::LayerParameter softmax = layer_of("Softmax");
  *softmax.mutable_softmax_param() = job.layer().softmax_param();
  job.warn("LogSoftmax becomes Softmax and Log: a probability that underflows to 0 becomes -inf");
  return unary(job, "Log", job.add(std::move(softmax), {job.x()}));
}

Blob compose_scale_tanh(Job& job) {
  job.require_inference();
  const caffe::ScaleTanHParameter& param = job.layer().scale_tanh_param();
  const BlobFile& passes = job.weight(0);
  if (passes.data.empty() || param.step_size() == 0) job.refuse("its number of passes is unknown");
  const float step = float(param.step_size());
  const float factor =
      param.init_scale() * std::pow(1 + param.gamma() * std::floor(passes.data[0] / step) * step, param.power());
  return unary(job, "TanH", power(job, job.x(), factor, 0));
}

}  // namespace

void add_activations(Compositions& table) {
  table.insert({{"Clip", compose_clip},
                {"ReLU6", compose_relu6},
                {"HardSigmoid", compose_hard_sigmoid},
                {"HardSwish", compose_hard_swish},
                {"Swish", compose_swish},
                {"Mish", compose_mish},
                {"GELU", compose_gelu},
                {"ELU", compose_elu},
                {"LogSoftmax", compose_log_softmax},
                {"ScaleTanH", compose_scale_tanh}});
}

}  // namespace cortado::dialect

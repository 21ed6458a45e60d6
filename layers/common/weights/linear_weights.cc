#include "layers/common/weights/linear_weights.h"

#include <algorithm>

#include "core/device/device_memory.h"

namespace cortado {

namespace {

std::vector<float> host_copy(Context& context, const Tensor& weight) {
  std::vector<float> values(size_t(weight.count()));
  copy_to_host(context, values.data(), weight.data, values.size() * sizeof(float));
  return values;
}

}  // namespace

std::optional<kernels::WeightFormat> LinearWeights::fixed_format(const PrepareRequest& request) {
  if (!request.fixed_weight_formats || request.frozen) return std::nullopt;
  return request.w_formats[0];
}

void LinearWeights::prepare(const PrepareRequest& request, const kernels::WeightFormat& kernel, bool own_bias,
                            bool channels_first, LayerNeeds& needs, const std::optional<kernels::WeightFormat>& bias) {
  folded_ = request.post.affine;
  own_bias_ = own_bias;
  channels_first_ = channels_first;
  kernel_ = kernel;
  stored_ = request.fixed_weight_formats         ? request.w_formats[0]
            : folds() || !kernel.is_reversible() ? kernels::WeightFormat(request.w[0].shape)
                                                 : kernel;
  const int64_t channels = kernel.shape()[channels_first ? 0 : 1];
  bias_ = bias.value_or(kernels::WeightFormat::of_type(Shape{channels}, kernel.dtype()));
  derives_ = folds() || !(stored_ == kernel_);
  needs.w_formats = {stored_};
  for (size_t i = 1; i < request.w.size(); ++i) needs.w_formats.emplace_back(request.w[i].shape);
  if (derives_) needs.derived = {kernel_};
  if (derives_bias()) needs.derived.push_back(bias_);
  if (!needs.derived.empty()) needs.derive = [this](Context& context, const Operands& io) { derive(context, io); };
}

void LinearWeights::derive(Context& context, const Operands& io) const {
  std::vector<float> w(size_t(io.w[0].count())), bias(size_t(bias_.shape().count()), 0.0f);
  stored_.to_plain(context, io.w[0].data, w.data());
  if (own_bias_) bias = host_copy(context, io.w[1]);
  if (folds()) fold_into(context, w, bias, io);
  kernel_.from_plain(context, w.data(), io.derived[0]);
  if (derives_bias()) bias_.from_plain(context, bias.data(), io.derived[1]);
}

void LinearWeights::fold_into(Context& context, std::vector<float>& w, std::vector<float>& bias,
                              const Operands& io) const {
  std::vector<std::vector<float>> copies;
  for (size_t i = own_bias_ ? 2 : 1; i < io.w.size(); ++i) copies.push_back(host_copy(context, io.w[i]));
  std::vector<const float*> of_followers;
  for (const std::vector<float>& copy : copies) of_followers.push_back(copy.data());
  const int64_t count = io.w[0].count(), channels = bias_.shape().count();
  const kernels::ChannelFactors factors(folded_, of_followers, channels);
  const int64_t run = channels_first_ ? count / std::max<int64_t>(1, channels) : 1;  // contiguous values of one channel
  for (int64_t i = 0; i < count; ++i) w[size_t(i)] = float(w[size_t(i)] * factors.scale[size_t(i / run % channels)]);
  for (size_t c = 0; c < size_t(channels); ++c) bias[c] = float(bias[c] * factors.scale[c] + factors.shift[c]);
}

const void* LinearWeights::w(const Operands& io) const { return derives_ ? io.derived[0] : io.w[0].data; }

const void* LinearWeights::bias(const Operands& io) const {
  if (derives_bias()) return io.derived[1];
  return own_bias_ ? io.w[1].data : nullptr;
}

}  // namespace cortado

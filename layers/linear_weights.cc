#include "layers/linear_weights.h"

#include <algorithm>

#include "core/device_memory.h"

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
                            bool channels_first, LayerNeeds& needs) {
  own_bias_ = own_bias;
  channels_first_ = channels_first;
  kernel_ = kernel;
  stored_ = request.fixed_weight_formats ? request.w_formats[0]
            : folds() || !kernel.is_reversible() ? kernels::WeightFormat(request.w[0].shape)
                                                 : kernel;
  derives_ = folds() || !(stored_ == kernel_);
  needs.w_formats = {stored_};
  for (size_t i = 1; i < request.w.size(); ++i) needs.w_formats.emplace_back(request.w[i].shape);
  if (!derives_) return;
  needs.derived = {kernel_};
  if (folds()) needs.derived.emplace_back(Shape{channels_first ? request.w[0].shape[0] : request.w[0].shape[1]});
}

void LinearWeights::derive(Context& context, const Operands& io) const {
  if (!derives_) return;
  std::vector<float> w(size_t(io.w[0].count()));
  stored_.to_plain(context, io.w[0].data, w.data());
  if (folds()) fold_into(context, w, io);
  kernel_.from_plain(context, w.data(), io.derived[0]);
}

void LinearWeights::fold_into(Context& context, std::vector<float>& w, const Operands& io) const {
  std::vector<std::vector<float>> copies;
  for (size_t i = own_bias_ ? 2 : 1; i < io.w.size(); ++i) copies.push_back(host_copy(context, io.w[i]));
  std::vector<const float*> of_followers;
  for (const std::vector<float>& copy : copies) of_followers.push_back(copy.data());
  const int64_t count = io.w[0].count(), channels = io.w[0].shape()[channels_first_ ? 0 : 1];
  const ChannelFactors factors(folded_, of_followers, channels);
  const int64_t run = channels_first_ ? count / std::max<int64_t>(1, channels) : 1;  // neighbours of one channel
  for (int64_t i = 0; i < count; ++i)
    w[size_t(i)] = float(w[size_t(i)] * factors.scale[size_t(i / run % channels)]);
  std::vector<float> bias = own_bias_ ? host_copy(context, io.w[1]) : std::vector<float>(size_t(channels), 0.0f);
  for (size_t c = 0; c < size_t(channels); ++c) bias[c] = float(bias[c] * factors.scale[c] + factors.shift[c]);
  copy_to_device(context, io.derived[1], bias.data(), bias.size() * sizeof(float));
}

const float* LinearWeights::w(const Operands& io) const {
  return derives_ ? static_cast<const float*>(io.derived[0]) : io.w[0].f32();
}

const float* LinearWeights::bias(const Operands& io) const {
  if (folds()) return static_cast<const float*>(io.derived[1]);
  return own_bias_ ? io.w[1].f32() : nullptr;
}

}  // namespace cortado

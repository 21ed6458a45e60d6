#include "core/half.h"
#include "core/loops/for_each.h"
#include "net/losses.h"

namespace cortado {

namespace {

template <typename T>
struct Element {
  const T* y;
  float weight;
  Traffic traffic(int64_t n) const { return {n * int64_t(sizeof(T)), int64_t(sizeof(float))}; }
  CORTADO_HD float operator()(int64_t, int64_t i) const { return float(y[i]) * weight; }
};

template <typename T>
struct Seed {
  T* dy;
  float weight;
  const float* scale;
  Traffic traffic(int64_t n) const { return {0, n * int64_t(sizeof(T))}; }
  CORTADO_HD void operator()(int64_t i, int64_t = 0) const { dy[i] = scale ? weight * *scale : weight; }
};

Tensor tensor_at(const TensorSpec& spec, std::byte* arena, int64_t offset, const Context& context) {
  return {spec, context.device, arena + offset};
}

}  // namespace

Losses::Losses(const graph::Plan& plan, std::byte* arena, Context& context) {
  for (size_t id = 0; id < plan.graph.values.size(); ++id) {
    const graph::Value& value = plan.graph.values[id];
    if (value.loss_weight == 0 || plan.values[id].offset < 0) continue;
    losses_.push_back({tensor_at(value.spec(), arena, plan.values[id].offset, context), value.loss_weight});
  }
  for (const graph::LossGradient& seed : plan.seeds)
    seeds_.push_back({tensor_at(plan.graph.value(seed.value).spec(), arena, seed.offset, context), seed.weight});
  sums_ = DeviceMemory(context, (losses_.size() + 1) * sizeof(float));
}

const float* Losses::add_up(Context& context) const {
  float* sums = reinterpret_cast<float*>(sums_.data());
  for (size_t k = 0; k < losses_.size(); ++k)
    with_float_type(losses_[k].y.spec.dtype, [&](auto zero) {
      using T = decltype(zero);
      const Element<T> element{static_cast<const T*>(losses_[k].y.data), losses_[k].weight};
      reduce_rows(context, 1, losses_[k].y.spec.elements(), element, sums + k);  // padding lanes are zero
    });
  reduce_rows(context, 1, int64_t(losses_.size()), Element<float>{sums, 1}, sums + losses_.size());
  return sums + losses_.size();
}

double Losses::read(Context& context) const {
  float sum = 0;
  copy_to_host(context, &sum, add_up(context), sizeof(sum));
  return sum;
}

void Losses::seed(Context& context, const float* scale) const {
  for (const Term& seed : seeds_)
    with_float_type(seed.y.spec.dtype, [&](auto zero) {
      using T = decltype(zero);
      const Seed<T> write{static_cast<T*>(seed.y.data), seed.weight, scale};
      if (seed.y.spec.layout == Layout::kBlocked16)
        for_each_channel(context, channel_view(seed.y.spec), write);
      else
        for_each(context, seed.y.spec.elements(), write);
    });
}

}  // namespace cortado

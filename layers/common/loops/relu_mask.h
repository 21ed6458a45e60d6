#pragma once

// What a layer that has taken over a ReLU begins backward with. For .cu files, as core/loops/for_each.h is.

#include "kernels/post_ops.h"
#include "layers/common/loops/typed.h"

namespace cortado {

namespace {

template <typename T>
struct ReluMask {
  const T* y;
  T* dy;
  kernels::Activation activation;
  using Arrays = ByPacks<In<&ReluMask::y>, InOut<&ReluMask::dy>>;
  CORTADO_HD void operator()(int64_t i) const { dy[i] = activation.passes(y[i]) ? float(dy[i]) : 0; }
};

}  // namespace

/// dy becomes 0 where the activation that made y lets no gradient pass: where a ReLU's y is 0, or at its ceiling.
inline void mask_by_relu(Context& context, const Tensor& y, const Tensor& dy,
                         const kernels::Activation& activation = kernels::Activation::relu()) {
  for_each_typed<ReluMask>(context, y, dy, activation);
}

}  // namespace cortado

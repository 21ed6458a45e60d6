#pragma once

// The first step of backward in a layer that fuses a ReLU. For .cu files, like core/loops/for_each.h.

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

/// Sets dy to 0 where the activation of y blocks the gradient: where y is 0, or at the ceiling of the activation.
inline void mask_by_relu(Context& context, const Tensor& y, const Tensor& dy,
                         const kernels::Activation& activation = kernels::Activation::relu()) {
  for_each_typed<ReluMask>(context, y, dy, activation);
}

}  // namespace cortado

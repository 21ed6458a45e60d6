#pragma once

// What a layer that has taken over a ReLU begins backward with. For .cu files, as core/for_each.h is.

#include "core/for_each.h"

namespace cortado {

namespace {

struct ReluMask {
  const float* y;
  float* dy;
  CORTADO_HD void operator()(int64_t i) const { dy[i] = y[i] > 0 ? dy[i] : 0; }
};

}  // namespace

/// dy becomes 0 wherever the ReLU's y is 0.
inline void mask_by_relu(Context& context, const Tensor& y, const Tensor& dy) {
  for_each(context, y.spec.elements(), ReluMask{y.f32(), dy.f32()});
}

}  // namespace cortado

#pragma once

// What a layer that has taken over a ReLU begins backward with. For .cu files, as core/for_each.h is.

#include <cmath>

#include "layers/common/typed.h"

namespace cortado {

namespace {

template <typename T>
struct ReluMask {
  const T* y;
  T* dy;
  float ceiling;
  using Arrays = ByPacks<In<&ReluMask::y>, InOut<&ReluMask::dy>>;
  CORTADO_HD void operator()(int64_t i) const { dy[i] = y[i] > 0 && y[i] < ceiling ? float(dy[i]) : 0; }
};

}  // namespace

/// dy becomes 0 wherever the ReLU's y is 0, or at its ceiling.
inline void mask_by_relu(Context& context, const Tensor& y, const Tensor& dy, float ceiling = INFINITY) {
  for_each_typed<ReluMask>(context, y, dy, ceiling);
}

}  // namespace cortado

#include "core/loops/for_each.h"
#include "layers/common/weights/kept_gradient.h"

namespace cortado {

namespace {

struct KeptGradientScaled {
  const float *gradient, *dy;
  float* dx;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = dy ? dy[0] * gradient[i] : 0; }
};

}  // namespace

void scale_kept_gradient(Context& context, const void* gradient, const Tensor& dy, const Tensor& dx) {
  for_each(context, dx.count(),
           KeptGradientScaled{static_cast<const float*>(gradient), dy ? dy.f32() : nullptr, dx.f32()});
}

}  // namespace cortado

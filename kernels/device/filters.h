#pragma once

// What libraries' convolutions need around them on a device: filters in the type and order that they want, and back;
// and what follows a convolution that could not do it itself.

#include <cmath>

#include "core/context.h"
#include "core/tensor.h"

namespace cortado::kernels {

/// K x C x taps filters in `dtype`; `last`: stored as K x taps x C.
struct FilterCopy {
  int64_t k, c, taps;
  bool last;
  DType dtype;

  int64_t count() const { return k * c * taps; }
  int64_t bytes() const { return count() * size_of(dtype); }
  /// Whether it differs from the 32-bit floats in K x C x taps that it is made of.
  bool differs() const { return dtype != DType::kF32 || (last && taps > 1 && c > 1); }
};

/// copy = w
void fill_filters(Context& context, const FilterCopy& spec, const float* w, void* copy);
/// dw = copy, or dw += copy
void read_filters(Context& context, const FilterCopy& spec, const void* copy, float* dw, bool add);

/// y = from + bias, then the ReLU and its ceiling; with `sum`, y's own values are added before it. `bias` may be null.
/// `from` may be y.
void finish_convolution(Context& context, const TensorSpec& y_spec, const void* from, const float* bias, bool relu,
                        bool sum, void* y, float ceiling = INFINITY);

/// dbias[c] = the sum of dy over channel c, or added to it. `scratch` has bias_gradient_scratch() bytes.
void bias_gradient(Context& context, const TensorSpec& dy_spec, const void* dy, float* dbias, bool add, void* scratch);
int64_t bias_gradient_scratch(const TensorSpec& dy_spec);

}  // namespace cortado::kernels

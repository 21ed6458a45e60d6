#pragma once

// What libraries' convolutions need around them on a device: filters in the type and order that they want, and back;
// and what follows a convolution that could not do it itself.

#include "core/context.h"
#include "core/tensor.h"
#include "kernels/post_ops.h"

namespace cortado::kernels {

/// K x C x taps filters in `dtype`; `last`: stored as K x taps x C.
struct FilterCopy {
  int64_t k, c, taps;
  bool last;
  DType dtype;

  int64_t count() const { return k * c * taps; }
  int64_t bytes() const { return count() * size_of(dtype); }
  /// Whether its values lie in another order than the floats in K x C x taps that it is made of.
  bool moves() const { return last && taps > 1 && c > 1; }
  /// Whether it differs from these.
  bool differs() const { return dtype != DType::kF32 || moves(); }
  /// Which of those the copy's i-th value is.
  int64_t source(int64_t i) const { return last ? (i / (c * taps) * c + i % c) * taps + i / c % taps : i; }
  bool operator==(const FilterCopy&) const = default;
};

/// copy = w
void fill_filters(Context& context, const FilterCopy& spec, const float* w, void* copy);
/// dw = factor * copy, or dw += factor * copy
void read_filters(Context& context, const FilterCopy& spec, const void* copy, float* dw, bool add, float factor = 1);

/// What follows a convolution: y = activation(from + z + bias).
struct ConvolutionEnd {
  const void* z = nullptr;        ///< like y; may be null, or y itself
  const void* bias = nullptr;     ///< one for each channel; may be null
  DType bias_type = DType::kF32;  ///< this or that of y
  Activation activation = {};
};

/// `from` may be y.
void finish_convolution(Context& context, const TensorSpec& y_spec, const void* from, const ConvolutionEnd& end,
                        void* y);

/// sums = those of each channel of y, C floats, and of its squares, C more, as ConvOperands::sums has them. `scratch`
/// has result_sums_scratch() bytes.
void sum_results(Context& context, const TensorSpec& y_spec, const void* y, float* sums, void* scratch);
int64_t result_sums_scratch(const TensorSpec& y_spec);

/// dbias[c] = the sum of dy over channel c, or added to it. `scratch` has bias_gradient_scratch() bytes.
void bias_gradient(Context& context, const TensorSpec& dy_spec, const void* dy, float* dbias, bool add, void* scratch);
int64_t bias_gradient_scratch(const TensorSpec& dy_spec);

}  // namespace cortado::kernels

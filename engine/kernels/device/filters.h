#pragma once

// Helpers for libraries' convolutions on a device: conversions of filters, and post-ops that an engine does not
// support.

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
  /// Whether the order differs from K x C x taps.
  bool moves() const { return last && taps > 1 && c > 1; }
  /// Whether the copy differs from the 32-bit K x C x taps filters.
  bool differs() const { return dtype != DType::kF32 || moves(); }
  /// The index of the copy's i-th value in K x C x taps.
  int64_t source(int64_t i) const { return last ? (i / (c * taps) * c + i % c) * taps + i / c % taps : i; }
  bool operator==(const FilterCopy&) const = default;
};

/// copy = w
void fill_filters(Context& context, const FilterCopy& spec, const float* w, void* copy);
/// dw = factor * copy, or dw += factor * copy
void read_filters(Context& context, const FilterCopy& spec, const void* copy, float* dw, bool add, float factor = 1);

/// The epilogue of a convolution: y = activation(from + z + bias).
struct ConvolutionEnd {
  const void* z = nullptr;        ///< shaped like y; may be null, or y itself
  const void* bias = nullptr;     ///< one value per channel; may be null
  DType bias_type = DType::kF32;  ///< this or the type of y
  Activation activation = {};
};

/// `from` may be y.
void finish_convolution(Context& context, const TensorSpec& y_spec, const void* from, const ConvolutionEnd& end,
                        void* y);

/// Writes ConvOperands::sums: C sums of the channels of y, and C of their squares. `scratch` has result_sums_scratch()
/// bytes.
void sum_results(Context& context, const TensorSpec& y_spec, const void* y, float* sums, void* scratch);
int64_t result_sums_scratch(const TensorSpec& y_spec);

/// dbias[c] = the sum of dy over channel c, or accumulated. `scratch` has bias_gradient_scratch() bytes.
void bias_gradient(Context& context, const TensorSpec& dy_spec, const void* dy, float* dbias, bool add, void* scratch);
int64_t bias_gradient_scratch(const TensorSpec& dy_spec);

}  // namespace cortado::kernels

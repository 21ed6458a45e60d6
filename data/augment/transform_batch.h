#pragma once

// transform() for a whole batch on the context's device, in one pass from bytes to the net's tensor: crop, resize,
// flip, colour changes, normalization, cast and layout. The arithmetic is the same as on the CPU
// (data/augment/augment.h).

#include "core/context.h"
#include "core/tensor.h"
#include "data/augment/transform.h"

namespace cortado::data {

/// The position and format of one sample in a batch's bytes.
struct RawSample {
  int64_t offset = 0;  ///< bytes from the first; a multiple of 4 if elements are floats
  int32_t channels = 0, height = 0, width = 0;
  bool interleaved = false, floats = false;
};

/// A batch before it is transformed, in device memory. Samples may have different sizes.
struct RawBatch {
  int n = 0;
  const uint8_t* bytes = nullptr;
  const RawSample* samples = nullptr;
  const AugmentParams* params = nullptr;  ///< results of resolve_params()
  const float* mean = nullptr;            ///< of mean_floats(plan); null if it is empty
};

/// The data for RawBatch::mean: the mean image, the mean values, or nothing.
const std::vector<float>& mean_floats(const TransformPlan& plan);

/// Writes the transformed batch to y (n x channels x out_height x out_width, plain or channels-last, 32 or 16 bits).
/// The draws must have been made with the same plan.
void transform_batch(Context& context, const RawBatch& batch, const TransformPlan& plan, const Tensor& y);

}  // namespace cortado::data

#pragma once

// transform() for a whole batch on the context's device, in one pass from bytes to the net's tensor: crop, resize,
// flip, colour, normalise, cast and lay out. Every number comes from the arithmetic that the CPU uses
// (data/augment/augment.h).

#include "core/context.h"
#include "core/tensor.h"
#include "data/augment/transform.h"

namespace cortado::data {

/// Where one sample lies among a batch's bytes, and how.
struct RawSample {
  int64_t offset = 0;  ///< bytes from the first; a multiple of 4 where elements are floats
  int32_t channels = 0, height = 0, width = 0;
  bool interleaved = false, floats = false;
};

/// A batch before it is transformed; all of it in the device's memory. Sizes of samples may differ.
struct RawBatch {
  int n = 0;
  const uint8_t* bytes = nullptr;
  const RawSample* samples = nullptr;
  const AugmentParams* params = nullptr;  ///< resolve_params() made them
  const float* mean = nullptr;            ///< of mean_floats(plan); null where there are none
};

/// What RawBatch::mean points to a copy of: the mean image, the mean values, or nothing.
const std::vector<float>& mean_floats(const TransformPlan& plan);

/// y (n x channels x out_height x out_width, plain or channels-last, of 32 or 16 bits) = the transformed batch. The
/// plan is the one that the draws were made with.
void transform_batch(Context& context, const RawBatch& batch, const TransformPlan& plan, const Tensor& y);

}  // namespace cortado::data

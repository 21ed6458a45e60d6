#pragma once

// Adapters that run candidates for 32-bit floats on bfloat16 values: operands are converted to floats in scratch, and
// results back. They are the last candidates on the CPU for operations without a bfloat16 kernel of our own.

#include "core/context.h"
#include "core/tensor.h"
#include "kernels/scratch.h"

namespace cortado::kernels {

/// A float copy of one operand. `scratch` is the block that the layout given to the constructor describes. Padding
/// lanes are copied, too.
class FloatCopy {
 public:
  FloatCopy() = default;
  FloatCopy(int64_t elements, ScratchLayout& scratch)
      : elements_(elements), offset_(scratch.add(elements * int64_t(sizeof(float)))) {}

  float* target(void* scratch) const { return static_cast<float*>(scratch_part(scratch, offset_)); }
  /// Converts the caller's values and returns the copy.
  float* load(Context& context, const void* values, void* scratch) const;
  /// Rounds the copy to the caller's memory.
  void store(Context& context, void* scratch, void* values) const;

 private:
  int64_t elements_ = 0, offset_ = 0;
};

}  // namespace cortado::kernels

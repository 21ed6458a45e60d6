#pragma once

// What runs on bfloat16 values where a candidate knows 32-bit floats alone: operands are copied into scratch as floats,
// and results back: the last candidate for these values on the CPU where none of our own reads them.

#include "core/context.h"
#include "core/tensor.h"
#include "kernels/scratch.h"

namespace cortado::kernels {

/// One operand's copy. `scratch` is always the block that the layout given to the constructor describes; all padding
/// lanes are copied, too.
class FloatCopy {
 public:
  FloatCopy() = default;
  FloatCopy(int64_t elements, ScratchLayout& scratch)
      : elements_(elements), offset_(scratch.add(elements * int64_t(sizeof(float)))) {}

  float* target(void* scratch) const { return static_cast<float*>(scratch_part(scratch, offset_)); }
  /// Of the values that the caller holds: the copy, made now.
  float* load(Context& context, const void* values, void* scratch) const;
  /// Rounds the copy into the caller's memory.
  void store(Context& context, void* scratch, void* values) const;

 private:
  int64_t elements_ = 0, offset_ = 0;
};

}  // namespace cortado::kernels

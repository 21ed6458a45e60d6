#pragma once

// Memory for a layer under test, on its context's device: aligned like an arena's, filled with NaN, between guards that
// detect writes outside. Reads copy it to the host, so that they work for every device.

#include <cstddef>
#include <vector>

#include "core/device/device_memory.h"
#include "core/tensor.h"
#include "tests/harness/array.h"

namespace cortado::harness {

class GuardedMemory {
 public:
  GuardedMemory(Context& context, int64_t bytes);

  void* data() const { return block_.data() + kGuard; }
  bool guards_intact(Context& context) const;

 private:
  static constexpr int64_t kGuard = 256;

  int64_t bytes_;
  DeviceMemory block_;
};

/// Every byte 0xFF: NaN in each float type.
void spoil(Context& context, void* data, int64_t bytes);

std::vector<std::byte> bytes_at(Context& context, const void* data, int64_t bytes);

/// The storage index of the element with this row-major index.
int64_t index_in_storage(const TensorSpec& spec, int64_t i);

/// Writes an array in a tensor's layout and type, with padding lanes of zero.
void store(Context& context, const Array& array, const Tensor& tensor);
Array load(Context& context, const Tensor& tensor);

/// An array's values, rounded to `dtype`.
Array rounded(Array array, DType dtype);

/// How many elements, padding lanes included, still hold what spoil() wrote: nothing has written them.
int64_t count_unwritten(Context& context, const Tensor& tensor);

/// Whether every padding lane holds +0 or -0.
bool padding_is_zero(Context& context, const Tensor& tensor);

}  // namespace cortado::harness

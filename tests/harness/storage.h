#pragma once

// Memory for a layer under test: aligned as an arena's, full of NaN, between guards that show a write outside.

#include <cstddef>
#include <vector>

#include "core/tensor.h"
#include "tests/harness/array.h"

namespace cortado::harness {

class GuardedMemory {
 public:
  explicit GuardedMemory(int64_t bytes);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  void* data() const { return block_ + kGuard; }
  int64_t bytes() const { return bytes_; }
  void spoil();  ///< every byte 0xFF: NaN as a float
  bool guards_intact() const;
  std::vector<std::byte> copy() const;

 private:
  static constexpr int64_t kGuard = 256;

  int64_t bytes_;
  std::byte* block_;
};

/// The index in storage of the element with this row-major index.
int64_t index_in_storage(const TensorSpec& spec, int64_t i);

/// Writes an array into a tensor's layout; padding lanes become zero.
void store(const Array& array, const Tensor& tensor);
Array load(const Tensor& tensor);

/// Whether every padding lane holds +0 or -0.
bool padding_is_zero(const Tensor& tensor);

}  // namespace cortado::harness

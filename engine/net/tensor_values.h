#pragma once

// A tensor's values in the user's order, whatever its layout and type: row major, N C H W.

#include <cstddef>
#include <vector>

#include "core/context.h"
#include "core/half.h"
#include "core/tensor.h"
#include "kernels/weight_format.h"

namespace cortado {

/// shape().count() floats; `tensor` lies where `context` computes, `plain` in the host's memory.
void read_values(Context& context, const Tensor& tensor, float* plain);

/// The other way round; padding lanes become 0. 8-bit integers are not written.
void write_values(Context& context, const float* plain, const Tensor& tensor);

// Copies of what lies in a net's memory, for code that looks at values.

/// `count` stored values (padding included) as floats. Waits for the device.
inline std::vector<float> values_of(Context& context, const void* data, DType dtype, int64_t count) {
  std::vector<std::byte> stored(size_t(count * size_of(dtype)));
  copy_to_host(context, stored.data(), data, stored.size());
  return with_float_type(dtype, [&](auto zero) {
    const auto* values = reinterpret_cast<const decltype(zero)*>(stored.data());
    return std::vector<float>(values, values + count);
  });
}

inline std::vector<float> values_of(Context& context, const Tensor& tensor) {
  return values_of(context, tensor.data, tensor.spec.dtype, tensor.spec.elements());
}

inline std::vector<float> values_of(Context& context, const float* weight, const kernels::WeightFormat& format) {
  return values_of(context, weight, DType::kF32, format.bytes() / int64_t(sizeof(float)));
}

}  // namespace cortado

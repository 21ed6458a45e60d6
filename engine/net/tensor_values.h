#pragma once

// A tensor's values in row-major order N, C, H, W, independent of its layout and type.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/device/device_memory.h"
#include "core/half.h"
#include "core/tensor.h"
#include "kernels/weight_format.h"

namespace cortado {

/// Reads shape().count() floats; `tensor` is on the device of `context`, `plain` in host memory.
void read_values(Context& context, const Tensor& tensor, float* plain);

/// The inverse; padding lanes become 0. 8-bit integers are not supported.
void write_values(Context& context, const float* plain, const Tensor& tensor);

/// "nan" or "inf": the first of the values that is not finite, and its index; "" if all are finite.
std::string not_finite_in(std::span<const float> values, size_t* index = nullptr);

// Copies of a net's memory, for code that inspects values.

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

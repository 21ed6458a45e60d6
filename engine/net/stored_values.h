#pragma once

// Copies of what lies in a net's memory, for code that looks at values.

#include <cstddef>
#include <vector>

#include "core/half.h"
#include "core/tensor.h"
#include "kernels/weight_format.h"

namespace cortado {

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

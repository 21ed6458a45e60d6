#include "net/tensor_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/device/device_memory.h"
#include "core/error.h"
#include "core/half.h"
#include "core/threads/threads.h"

namespace cortado {

namespace {

/// Calls visit(plain index, stored index) for every element.
template <typename Visit>
void walk(const TensorSpec& spec, const Visit& visit) {
  const Shape& shape = spec.shape;
  if (spec.layout == Layout::kPlain) {
    for (int64_t i = 0; i < shape.count(); ++i) visit(i, i);
    return;
  }
  const int64_t channels = shape[1], blocks = (channels + 15) / 16, pixels = shape.count(2);
  const bool blocked = spec.layout == Layout::kBlocked16;
  for (int64_t n = 0; n < shape[0]; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t s = 0; s < pixels; ++s)
        visit((n * channels + c) * pixels + s,
              blocked ? ((n * blocks + c / 16) * pixels + s) * 16 + c % 16 : (n * pixels + s) * channels + c);
}

bool is_plain_floats(const TensorSpec& spec) { return spec.layout == Layout::kPlain && spec.dtype == DType::kF32; }

/// On the CPU all threads write, so that each has a part of its next input in its cache.
void put_plain(Context& context, const float* plain, const Tensor& tensor) {
  const int64_t bytes = tensor.spec.bytes();
  if (!context.shares_host_memory()) return copy_to_device(context, tensor.data, plain, size_t(bytes));
  const auto* from = reinterpret_cast<const std::byte*>(plain);
  auto* to = tensor.as<std::byte>();
  parallel_ranges(context, bytes, 1 << 16,
                  [&](int64_t begin, int64_t end) { std::memcpy(to + begin, from + begin, size_t(end - begin)); });
}

}  // namespace

std::string not_finite_in(std::span<const float> values, size_t* index) {
  const auto found = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  if (found == values.end()) return {};
  if (index) *index = size_t(found - values.begin());
  return std::isnan(*found) ? "nan" : "inf";
}

void read_values(Context& context, const Tensor& tensor, float* plain) {
  const TensorSpec& spec = tensor.spec;
  const size_t bytes = size_t(spec.bytes());
  if (is_plain_floats(spec)) return copy_to_host(context, plain, tensor.data, bytes);
  std::vector<std::byte> stored(bytes);
  copy_to_host(context, stored.data(), tensor.data, bytes);
  if (is_8_bit(spec.dtype)) {
    const bool is_signed = spec.dtype == DType::kS8;
    walk(spec, [&](int64_t i, int64_t at) {
      const std::byte value = stored[size_t(at)];
      plain[i] = (is_signed ? float(int8_t(value)) : float(uint8_t(value))) / spec.scale;
    });
    return;
  }
  with_float_type(spec.dtype, [&](auto zero) {
    const auto* values = reinterpret_cast<const decltype(zero)*>(stored.data());
    walk(spec, [&](int64_t i, int64_t at) { plain[i] = values[at]; });
  });
}

void write_values(Context& context, const float* plain, const Tensor& tensor) {
  if (is_plain_floats(tensor.spec)) return put_plain(context, plain, tensor);
  if (is_8_bit(tensor.spec.dtype)) throw_internal("8-bit integers cannot be written");
  std::vector<std::byte> stored(size_t(tensor.spec.bytes()));
  with_float_type(tensor.spec.dtype, [&](auto zero) {
    using T = decltype(zero);
    auto* values = reinterpret_cast<T*>(stored.data());
    walk(tensor.spec, [&](int64_t i, int64_t at) { values[at] = T(plain[i]); });
  });
  copy_to_device(context, tensor.data, stored.data(), stored.size());
}

}  // namespace cortado

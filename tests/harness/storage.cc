#include "tests/harness/storage.h"

#include <algorithm>
#include <cstring>

#include "core/half.h"

namespace cortado::harness {

namespace {

constexpr std::byte kGuardByte{0xA5}, kNanByte{0xFF};

/// Stored elements as floats.
std::vector<double> stored_values(Context& context, const Tensor& tensor) {
  const std::vector<std::byte> bytes = bytes_at(context, tensor.data, tensor.spec.bytes());
  std::vector<double> values(size_t(tensor.spec.elements()));
  with_float_type(tensor.spec.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* stored = reinterpret_cast<const T*>(bytes.data());
    for (size_t i = 0; i < values.size(); ++i) values[i] = double(float(stored[i]));
  });
  return values;
}

}  // namespace

GuardedMemory::GuardedMemory(Context& context, int64_t bytes)
    : bytes_(bytes), block_(context, size_t((bytes + 63) / 64 * 64 + 2 * kGuard)) {
  const std::vector<std::byte> guards(block_.bytes(), kGuardByte);
  copy_to_device(context, block_.data(), guards.data(), guards.size());
  spoil(context, data(), bytes);
}

bool GuardedMemory::guards_intact(Context& context) const {
  const std::vector<std::byte> all = bytes_at(context, block_.data(), int64_t(block_.bytes()));
  for (size_t i = 0; i < size_t(kGuard); ++i)
    if (all[i] != kGuardByte || all[size_t(kGuard + bytes_) + i] != kGuardByte) return false;
  return true;
}

void spoil(Context& context, void* data, int64_t bytes) {
  const std::vector<std::byte> nan(size_t(bytes), kNanByte);
  copy_to_device(context, data, nan.data(), nan.size());
}

std::vector<std::byte> bytes_at(Context& context, const void* data, int64_t bytes) {
  std::vector<std::byte> all(size_t(bytes), std::byte{0});
  copy_to_host(context, all.data(), data, all.size());
  return all;
}

int64_t index_in_storage(const TensorSpec& spec, int64_t i) {
  if (spec.layout == Layout::kPlain) return i;
  const int64_t channels = spec.shape[1], inner = spec.shape.count(2);
  const int64_t s = i % inner, c = i / inner % channels, n = i / inner / channels;
  if (spec.layout == Layout::kChannelsLast) return (n * inner + s) * channels + c;
  const int64_t blocks = (channels + 15) / 16;
  return ((n * blocks + c / 16) * inner + s) * 16 + c % 16;
}

void store(Context& context, const Array& array, const Tensor& tensor) {
  std::vector<std::byte> bytes(size_t(tensor.spec.bytes()), std::byte{0});
  with_float_type(tensor.spec.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* stored = reinterpret_cast<T*>(bytes.data());
    for (size_t i = 0; i < array.size(); ++i) stored[index_in_storage(tensor.spec, int64_t(i))] = T(float(array[i]));
  });
  copy_to_device(context, tensor.data, bytes.data(), bytes.size());
}

Array load(Context& context, const Tensor& tensor) {
  const std::vector<double> stored = stored_values(context, tensor);
  Array array(tensor.shape());
  for (size_t i = 0; i < array.size(); ++i) array[i] = stored[size_t(index_in_storage(tensor.spec, int64_t(i)))];
  return array;
}

Array rounded(Array array, DType dtype) {
  with_float_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (double& value : array.values) value = double(float(T(float(value))));
  });
  return array;
}

int64_t count_unwritten(Context& context, const Tensor& tensor) {
  const std::vector<std::byte> bytes = bytes_at(context, tensor.data, tensor.spec.bytes());
  const size_t size = bytes.size() / std::max<size_t>(1, size_t(tensor.spec.elements()));
  int64_t count = 0;
  for (size_t i = 0; i < size_t(tensor.spec.elements()); ++i) {
    const auto first = bytes.begin() + int64_t(i * size);
    count += std::all_of(first, first + int64_t(size), [](std::byte b) { return b == kNanByte; });
  }
  return count;
}

bool padding_is_zero(Context& context, const Tensor& tensor) {
  const std::vector<double> stored = stored_values(context, tensor);
  std::vector<bool> used(stored.size());
  for (int64_t i = 0; i < tensor.count(); ++i) used[size_t(index_in_storage(tensor.spec, i))] = true;
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i] && stored[i] != 0) return false;
  return true;
}

}  // namespace cortado::harness

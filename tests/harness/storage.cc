#include "tests/harness/storage.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace cortado::harness {

namespace {

constexpr std::byte kGuardByte{0xA5}, kNanByte{0xFF};

}  // namespace

GuardedMemory::GuardedMemory(int64_t bytes) : bytes_(bytes) {
  const size_t all = size_t((bytes + 63) / 64 * 64 + 2 * kGuard);
  block_ = static_cast<std::byte*>(std::aligned_alloc(64, all));
  if (!block_) throw std::bad_alloc();
  std::memset(block_, int(kGuardByte), all);
  spoil();
}

GuardedMemory::~GuardedMemory() { std::free(block_); }

void GuardedMemory::spoil() { std::memset(data(), int(kNanByte), size_t(bytes_)); }

bool GuardedMemory::guards_intact() const {
  for (int64_t i = 0; i < kGuard; ++i)
    if (block_[i] != kGuardByte || block_[kGuard + bytes_ + i] != kGuardByte) return false;
  return true;
}

std::vector<std::byte> GuardedMemory::copy() const {
  const auto* first = static_cast<const std::byte*>(data());
  return {first, first + bytes_};
}

int64_t index_in_storage(const TensorSpec& spec, int64_t i) {
  if (spec.layout == Layout::kPlain) return i;
  const int64_t channels = spec.shape[1], inner = spec.shape.count(2);
  const int64_t s = i % inner, c = i / inner % channels, n = i / inner / channels;
  if (spec.layout == Layout::kChannelsLast) return (n * inner + s) * channels + c;
  const int64_t blocks = (channels + 15) / 16;
  return ((n * blocks + c / 16) * inner + s) * 16 + c % 16;
}

void store(const Array& array, const Tensor& tensor) {
  std::memset(tensor.data, 0, size_t(tensor.spec.bytes()));
  for (size_t i = 0; i < array.size(); ++i) tensor.f32()[index_in_storage(tensor.spec, int64_t(i))] = float(array[i]);
}

Array load(const Tensor& tensor) {
  Array array(tensor.shape());
  for (size_t i = 0; i < array.size(); ++i) array[i] = double(tensor.f32()[index_in_storage(tensor.spec, int64_t(i))]);
  return array;
}

bool padding_is_zero(const Tensor& tensor) {
  std::vector<bool> used(size_t(tensor.spec.elements()));
  for (int64_t i = 0; i < tensor.count(); ++i) used[size_t(index_in_storage(tensor.spec, i))] = true;
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i] && tensor.f32()[i] != 0) return false;
  return true;
}

}  // namespace cortado::harness

#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "core/device.h"
#include "core/shape.h"

namespace cortado {

/// The type of an element. A run-time value; classes are never templates on it.
enum class DType : uint8_t { kF32, kF16, kBF16, kF64, kI32, kU8, kS8 };

int64_t size_of(DType dtype);  ///< bytes of one element
std::string name_of(DType dtype);
constexpr bool is_8_bit(DType dtype) { return dtype == DType::kU8 || dtype == DType::kS8; }

/// How elements encode values. Floats and 32-bit integers store them directly; 8-bit integers store round(scale *
/// value), saturated.
struct Encoding {
  DType dtype = DType::kF32;
  float scale = 1;  ///< of 8-bit integers; 1 for other types
  auto operator<=>(const Encoding&) const = default;
};

/// Memory order of an N x C x H x W tensor. Tensors with a different number of axes are always plain.
///   kPlain         row-major, N C H W
///   kChannelsLast  N H W C
///   kBlocked16     N C/16 H W 16: channels in blocks of 16, the last block padded. Padding lanes are exactly zero.
enum class Layout : uint8_t { kPlain, kChannelsLast, kBlocked16 };

std::string name_of(Layout layout);

/// The description of a tensor, without memory.
struct TensorSpec {
  Shape shape;
  DType dtype = DType::kF32;
  Layout layout = Layout::kPlain;
  float scale = 1;  ///< of 8-bit integers (Encoding)

  Encoding encoding() const { return {dtype, scale}; }
  bool operator==(const TensorSpec&) const = default;
  int64_t elements() const;  ///< stored elements, including padding lanes
  int64_t bytes() const;     ///< including padding lanes
};

/// A non-owning view, cheap to copy. `data` may be null where a contract says that the tensor is optional.
struct Tensor {
  TensorSpec spec;
  Device device;
  void* data = nullptr;

  const Shape& shape() const { return spec.shape; }
  int64_t count() const { return spec.shape.count(); }
  float* f32() const { return static_cast<float*>(data); }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
  explicit operator bool() const { return data != nullptr; }
};

/// A row-major tensor of 32-bit floats over the caller's memory.
Tensor plain_view(const Shape& shape, float* data);

}  // namespace cortado

#include "core/tensor.h"

namespace cortado {

int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kU8:
    case DType::kS8:
      return 1;
  }
  return 0;
}

std::string name_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kF64:
      return "f64";
    case DType::kI32:
      return "i32";
    case DType::kU8:
      return "u8";
    case DType::kS8:
      return "s8";
  }
  return "?";
}

std::string name_of(Layout layout) {
  switch (layout) {
    case Layout::kPlain:
      return "plain";
    case Layout::kChannelsLast:
      return "channels_last";
    case Layout::kBlocked16:
      return "blocked16";
  }
  return "?";
}

int64_t TensorSpec::elements() const {
  if (layout != Layout::kBlocked16) return shape.count();
  const int64_t padded = (shape[1] + 15) / 16 * 16;
  return checked_mul(checked_mul(shape[0], padded), shape.count(2));
}

int64_t TensorSpec::bytes() const { return checked_mul(elements(), size_of(dtype)); }

Tensor plain_view(const Shape& shape, float* data) {
  return Tensor{TensorSpec{shape, DType::kF32, Layout::kPlain}, Device{}, data};
}

}  // namespace cortado

#include "onnx/import/read_tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "core/half.h"
#include "onnx/import/batch_constants.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

using onnx::TensorProto;

Shape shape_of_tensor(const TensorProto& tensor) {
  if (tensor.dims_size() > Shape::kMaxAxes)
    throw FieldError("", "it has " + std::to_string(tensor.dims_size()) + " axes, above the limit of " +
                             std::to_string(Shape::kMaxAxes));
  for (const int64_t dim : tensor.dims())
    if (dim < 0) throw FieldError("", "extent " + std::to_string(dim) + " is negative");
  return Shape(std::vector<int64_t>(tensor.dims().begin(), tensor.dims().end()));
}

[[noreturn]] void fail_count(int64_t have, const Shape& shape) {
  throw FieldError("", "it holds " + std::to_string(have) + " values, but its shape is " + shape.str());
}

template <typename T, typename To>
void take_raw(std::string_view raw, const Shape& shape, std::vector<To>& out) {
  const int64_t count = shape.count();
  if (raw.size() % sizeof(T) != 0 || int64_t(raw.size() / sizeof(T)) != count)
    fail_count(int64_t(raw.size() / sizeof(T)), shape);
  out.resize(size_t(count));
  for (size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
    out[i] = To(value);
  }
}

template <typename Field, typename To>
void take_field(const Field& field, const Shape& shape, std::vector<To>& out) {
  if (field.size() != shape.count()) fail_count(field.size(), shape);
  out.assign(field.begin(), field.end());
}

/// 16-bit floats, stored in integers or in raw bytes.
template <typename ToFloat>
void take_halves(const TensorProto& tensor, std::string_view raw, bool only_raw, const Shape& shape,
                 std::vector<float>& out, const ToFloat& to_float) {
  std::vector<uint16_t> bits;
  if (only_raw || !raw.empty())
    take_raw<uint16_t>(raw, shape, bits);
  else
    take_field(tensor.int32_data(), shape, bits);
  for (const uint16_t one : bits) out.push_back(to_float(one));
}

float from_bfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

}  // namespace

Constant read_tensor(const TensorProto& tensor, std::string_view raw, bool only_raw) {
  Constant out{.shape = shape_of_tensor(tensor)};
  const Shape& shape = out.shape;
  const bool from_raw = only_raw || !raw.empty();
  out.integers = tensor.data_type() != TensorProto::FLOAT && tensor.data_type() != TensorProto::DOUBLE &&
                 tensor.data_type() != TensorProto::FLOAT16 && tensor.data_type() != TensorProto::BFLOAT16;
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
      from_raw ? take_raw<float>(raw, shape, out.floats) : take_field(tensor.float_data(), shape, out.floats);
      return out;
    case TensorProto::DOUBLE:
      from_raw ? take_raw<double>(raw, shape, out.floats) : take_field(tensor.double_data(), shape, out.floats);
      return out;
    case TensorProto::FLOAT16:
      take_halves(tensor, raw, only_raw, shape, out.floats, half_value);
      return out;
    case TensorProto::BFLOAT16:
      take_halves(tensor, raw, only_raw, shape, out.floats, from_bfloat16);
      return out;
    case TensorProto::INT64:
      from_raw ? take_raw<int64_t>(raw, shape, out.ints) : take_field(tensor.int64_data(), shape, out.ints);
      return out;
    case TensorProto::INT32:
      from_raw ? take_raw<int32_t>(raw, shape, out.ints) : take_field(tensor.int32_data(), shape, out.ints);
      return out;
    case TensorProto::UINT8:
    case TensorProto::BOOL:
      from_raw ? take_raw<uint8_t>(raw, shape, out.ints) : take_field(tensor.int32_data(), shape, out.ints);
      return out;
    case TensorProto::INT8:
      from_raw ? take_raw<int8_t>(raw, shape, out.ints) : take_field(tensor.int32_data(), shape, out.ints);
      return out;
    default:
      throw FieldError("", "ONNX data type " + std::to_string(tensor.data_type()) + " is not supported",
                       "use floats, integers of 8, 32 or 64 bits, or booleans");
  }
}

}  // namespace cortado::importing

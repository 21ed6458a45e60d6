#pragma once

// A stream of tensors as a safetensors file begins: eight bytes with the length of a JSON object, little endian; the
// object, which gives each name its type, shape and bytes; then the values, row major, one tensor after the other
// without gaps. One type is ours: STR, a text of shape [bytes].

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/shape.h"

namespace cortado {

/// One tensor of a stream.
struct TensorEntry {
  std::string name;
  std::string type;  ///< "F32", "I64", ...
  Shape shape;
  int64_t bytes() const;  ///< of its values. Throws FieldError past 2^62
};

constexpr int64_t kMaxTensorHeader = int64_t(64) << 20;  ///< bytes of JSON

/// Bytes of one value, 0 for a type that there is none of: F64 F32 I64 U64 I32 U32 I16 U16 I8 U8 STR.
int64_t tensor_value_bytes(std::string_view type);

/// The eight bytes and the JSON for these tensors, in this order. Throws std::invalid_argument for a name that is not
/// UTF-8.
std::string tensor_header(const std::vector<TensorEntry>& entries);

/// The number in the first eight bytes.
uint64_t tensor_header_length(std::string_view eight);

/// The entries of the JSON, in the order of their values. Throws std::invalid_argument where it is not what a stream
/// has: unknown types, gaps, values that do not fill their shape.
std::vector<TensorEntry> parse_tensor_header(std::string_view json);

/// `n` values of a type as 32-bit floats.
void tensor_to_floats(std::string_view type, const char* bytes, int64_t n, float* out);

}  // namespace cortado

#pragma once

// The header of a stream of tensors, as in a safetensors file. It is eight bytes with the length of a JSON object,
// little endian, then the object, which maps each name to type, shape and offsets. The values follow, row major,
// without gaps. One type is an extension: STR, a text of shape [bytes].

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
  int64_t bytes() const;  ///< the size of its values. Throws FieldError above 2^62
};

constexpr int64_t kMaxTensorHeader = int64_t(64) << 20;  ///< limit of the JSON, in bytes

/// Bytes of one value of F64 F32 I64 U64 I32 U32 I16 U16 I8 U8 STR; 0 for an unknown type.
int64_t tensor_value_bytes(std::string_view type);

/// The header (eight bytes and JSON) of these tensors, in this order. Throws std::invalid_argument for a name that is
/// not UTF-8.
std::string tensor_header(const std::vector<TensorEntry>& entries);

/// Decodes the length in the first eight bytes.
uint64_t tensor_header_length(std::string_view eight);

/// The entries of the JSON, in the order of their values. Throws std::invalid_argument for unknown types, gaps, or
/// values that do not match their shape.
std::vector<TensorEntry> parse_tensor_header(std::string_view json);

/// Converts `n` values of a type to float32.
void tensor_to_floats(std::string_view type, const char* bytes, int64_t n, float* out);

}  // namespace cortado

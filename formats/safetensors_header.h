#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/shape.h"
#include "formats/wire.h"

namespace cortado {

/// A tensor's entry in the header of a safetensors file.
struct TensorPlace {
  std::string name, dtype;
  Shape shape;
  uint64_t begin = 0, end = 0;  ///< byte offsets of its values, from the end of the header
};

struct SafetensorsHeader {
  std::vector<TensorPlace> tensors;  ///< in file order; their bytes have no gaps
  std::map<std::string, std::string> metadata;
  std::string_view values;  ///< all bytes after the header
};

constexpr uint64_t kMaxHeaderBytes = 100'000'000;

/// Reads and checks the header. The caller checks that types and shapes match the number of bytes. Throws
/// Error(file.code).
SafetensorsHeader read_safetensors_header(const WireFile& file);

}  // namespace cortado

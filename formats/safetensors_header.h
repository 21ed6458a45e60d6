#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/shape.h"
#include "formats/wire.h"

namespace cortado {

/// A tensor as the header of a safetensors file describes it.
struct TensorPlace {
  std::string name, dtype;
  Shape shape;
  uint64_t begin = 0, end = 0;  ///< of its bytes, from the header's end
};

struct SafetensorsHeader {
  std::vector<TensorPlace> tensors;  ///< in the order of their bytes, which follow each other without gaps
  std::map<std::string, std::string> metadata;
  std::string_view values;  ///< all bytes behind the header
};

constexpr uint64_t kMaxHeaderBytes = 100'000'000;

/// Reads and checks the header; that types and shapes agree with numbers of bytes is the caller's business. Throws
/// Error(file.code).
SafetensorsHeader read_safetensors_header(const WireFile& file);

}  // namespace cortado

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/shape.h"

namespace cortado {

/// A NumPy array as floats, row major.
struct NpyArray {
  Shape shape;
  std::vector<float> values;
};

/// Reads a .npy file (versions 1 to 3, C or Fortran order, little endian float16/32/64, int32/64, uint8, bool) and
/// converts it to float. Memory is bounded by the file's size. Throws Error(kIo) or Error(kData) with the file's name.
NpyArray read_npy(const std::string& path);
NpyArray parse_npy(std::string_view content, const std::string& name);  ///< `name` is used in messages

/// The header of a file with this shape. The values follow, row major: float16 with `halves`, else float32.
std::string npy_header(const Shape& shape, bool halves = false);

/// Writes a file atomically: float32, C order, format version 1. Throws Error(kIo).
void write_npy(const std::string& path, const Shape& shape, const float* values);

}  // namespace cortado

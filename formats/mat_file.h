#pragma once

// MAT-files of level 5, MATLAB's and Octave's format, without compression (save -v6). A file has a header of 128 bytes,
// then elements: a type, a number of bytes, the bytes and padding up to a multiple of 8. A variable is an element that
// contains others: flags with its class, its dimensions, its name and its values, the first dimension fastest.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cortado {

/// A numeric array as floats, the first dimension fastest.
struct MatArray {
  std::vector<int64_t> dims;
  std::vector<float> values;
};

/// Reads the variable `variable`, an array of real numbers of any type, from a little-endian file. Memory is bounded by
/// the file's size. Throws Error(kIo) or Error(kData) with the file's name.
MatArray read_mat(const std::string& path, const std::string& variable);
/// The same from memory; `name` is used in messages.
MatArray parse_mat(std::string_view content, const std::string& variable, const std::string& name);

/// Writes a file with one variable of single precision atomically. Throws Error(kIo), or Error(kUsage) for values that
/// exceed the format's 4 GiB.
void write_mat(const std::string& path, const std::string& variable, const std::vector<int64_t>& dims,
               const float* values);

}  // namespace cortado

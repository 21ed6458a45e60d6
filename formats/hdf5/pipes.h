#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "formats/tensor_header.h"

namespace cortado::hdf5 {

/// Writes all bytes to standard output. Throws Failure.
void put(const void* bytes, size_t n);

/// Reads `n` bytes from standard input. Throws Failure at its end.
void get(void* bytes, size_t n);

/// Reads the header of the next stream on standard input; false at the eight zero bytes that end the input.
bool get_head(std::vector<TensorEntry>& entries);

}  // namespace cortado::hdf5

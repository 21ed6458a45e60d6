#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "formats/tensor_header.h"

namespace cortado::hdf5 {

/// To standard output, all of it. Throws Failure.
void put(const void* bytes, size_t n);

/// From standard input; throws Failure where it ends before.
void get(void* bytes, size_t n);

/// The head of the next stream on standard input; false: eight bytes of zero stand in its place.
bool get_head(std::vector<TensorEntry>& entries);

}  // namespace cortado::hdf5

#pragma once

// What `cortado-hdf5` does to one file. All functions throw Failure.

#include <cstdint>
#include <string>
#include <vector>

namespace cortado::hdf5 {

/// Datasets of the file as a stream of tensors (formats/tensor_header.h) on standard output. `wanted`: names, which
/// must be there and hold numbers, or beginnings of names that end with '/', of which all that hold numbers or text are
/// taken; empty: all. Fails, before a value is read, where they would be more than `most` bytes. `values` false: the
/// head alone.
void read_file(const std::string& path, int64_t most, const std::vector<std::string>& wanted, bool values);

/// Makes the file of one stream of tensors on standard input, or none where that ends too early, then writes '+' to
/// standard output.
void write_file(const std::string& path);

/// Makes the file of any number of streams: a name that comes again adds rows to its dataset. Answers each with '+'
/// once it is in the file. Eight bytes of zero end the input; where they are missing the file is removed.
void append_file(const std::string& path);

}  // namespace cortado::hdf5

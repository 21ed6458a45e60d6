#pragma once

// The commands of `cortado-hdf5`, each for one file. All functions throw Failure.

#include <cstdint>
#include <string>
#include <vector>

namespace cortado::hdf5 {

/// Writes datasets of the file to standard output as a stream of tensors (formats/tensor_header.h). `names` has the
/// names of numeric datasets, which must exist, or groups that end with '/', of which all numeric and text datasets are
/// taken. Empty means everything. Fails before reading a value if they exceed `most` bytes. With `values` false only
/// the header is written.
void read_file(const std::string& path, int64_t most, const std::vector<std::string>& names, bool values);

/// Writes the file from one stream of tensors on standard input, then writes '+' to standard output. If the stream is
/// truncated, no file is written.
void write_file(const std::string& path);

/// Writes the file from any number of streams; a repeated name appends rows to its dataset. Answers each stream with
/// '+' after it is written. Eight zero bytes end the input; if they are missing the file is removed.
void append_file(const std::string& path);

}  // namespace cortado::hdf5

#pragma once

#include <string>
#include <vector>

#include "formats/wire.h"
#include "proto/weights/weights_file.h"

namespace cortado {

/// Reads a safetensors file: eight bytes with the length of a JSON object, the object, the values. A layer's blobs are
/// the tensors `layer.0`, `layer.1`, ... in Caffe's order and shapes; "__metadata__" has the net's name as `net` and
/// each layer's type as `type:layer`. Reads F64, F32, F16 and BF16. Throws Error(file.code) for violations of the
/// format (a header above 100 MB, overlaps, gaps, duplicate names, inconsistent lengths) and for other names.
std::vector<LayerWeights> read_safetensors(const WireFile& file, WeightsOrigin& origin);

/// Writes `path` atomically, as F32 or (`halves`) F16. Returns the digest of its bytes. Throws Error(kUsage) for a name
/// that is not UTF-8 or is used twice, Error(kIo) if it cannot be written.
std::string write_safetensors(const std::string& path, const std::vector<LayerWeights>& layers, const std::string& net,
                              bool halves = false);

/// Whether a file begins like a safetensors file.
bool looks_like_safetensors(std::string_view content);

}  // namespace cortado

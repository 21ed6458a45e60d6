#pragma once

#include <string>
#include <vector>

#include "formats/wire.h"
#include "proto/weights/weights_file.h"

namespace cortado {

/// The layers of a .caffemodel that have weights, and its origin. Memory is limited to a small multiple of the file's
/// size, whatever the file claims. Throws Error(file.code) with the offset where it is truncated or corrupt.
std::vector<LayerWeights> read_caffemodel(const WireFile& file, WeightsOrigin& origin);

/// Reads a BlobProto of any dialect: packed or not, float, double or NVIDIA's raw bytes, with a shape or the old four
/// extents. `what` is its name in errors: "layer 'conv1', blob 0". `origin`, if not null, receives how it was stored.
BlobFile read_blob(const WireFile& file, std::string_view message, const std::string& what,
                   WeightsOrigin* origin = nullptr);

}  // namespace cortado

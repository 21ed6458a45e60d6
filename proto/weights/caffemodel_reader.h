#pragma once

#include <vector>

#include "formats/wire.h"
#include "proto/weights/weights_file.h"

namespace cortado {

/// The layers of a .caffemodel that have weights, and what wrote it. Memory stays within a small multiple of the file's
/// size, whatever the file says. Throws Error(file.code) with the byte where it is truncated or corrupt.
std::vector<LayerWeights> read_caffemodel(const WireFile& file, WeightsOrigin& origin);

}  // namespace cortado

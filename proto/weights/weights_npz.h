#pragma once

#include <string>
#include <vector>

#include "formats/wire.h"
#include "proto/weights/weights_file.h"

namespace cortado {

/// Whether the bytes are a zip archive whose first file is a NumPy array.
bool looks_like_npz(std::string_view content);

/// Weights in the form of numpy.savez(): an array "conv1/0" per blob. Layers are in the order of their first arrays,
/// without types. Throws Error(file.code).
std::vector<LayerWeights> read_weights_npz(const WireFile& file, WeightsOrigin& origin);

/// Writes an archive for numpy.load(): an array "conv1/0" per blob, atomically; returns the digest of the file's bytes.
/// Throws Error(kUsage) if two layers have one name, Error(kSnapshot) beyond 4 GiB.
std::string write_weights_npz(const std::string& path, const std::vector<LayerWeights>& layers, bool halves);

}  // namespace cortado

#pragma once

#include <string>
#include <vector>

#include "formats/wire.h"
#include "proto/weights/weights_file.h"

namespace cortado {

/// Whether the bytes are a zip archive whose first file is an array of NumPy's.
bool looks_like_npz(std::string_view content);

/// Weights as numpy.savez() writes them: an array "conv1/0" for each blob. Layers come in the order in which their
/// first arrays do, without types. Throws Error(file.code).
std::vector<LayerWeights> read_weights_npz(const WireFile& file, WeightsOrigin& origin);

/// Writes what numpy.load() reads: an array "conv1/0" for each blob, atomically; the digest of the file's bytes. Throws
/// Error(kUsage) where two layers have one name, Error(kSnapshot) past 4 GiB.
std::string write_weights_npz(const std::string& path, const std::vector<LayerWeights>& layers, bool halves);

}  // namespace cortado

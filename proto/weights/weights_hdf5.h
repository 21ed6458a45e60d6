#pragma once

// Weights in HDF5, as BVLC Caffe lays them out: /data/LAYER/I is blob I of a layer, /diff/LAYER/I its gradient. A '/'
// in a layer's name makes groups within groups. A blob that a layer shares with an earlier one is left out.

#include <optional>
#include <string>
#include <vector>

#include "formats/tensor_header.h"
#include "proto/weights/weights_file.h"

namespace cortado {

/// Whether the file begins as HDF5 files do, or holds one behind a head of its user's. Never throws.
bool is_hdf5_file(const std::string& path);

/// Like read_weights(). A blob that the file leaves out among others of its layer is absent
/// (proto/weights/weights_file.h); types are not in such files.
std::vector<LayerWeights> read_weights_hdf5(const std::string& path, std::string* digest = nullptr);

/// Writes them, without absent blobs, atomically; returns the digest of the file's bytes. Throws like
/// check_hdf5_names().
std::string write_weights_hdf5(const std::string& path, const std::vector<LayerWeights>& layers);

/// The dataset of a blob. `group` is "data" or "diff".
TensorEntry hdf5_blob(const std::string& group, const std::string& layer, size_t index, const Shape& shape);

/// Throws Error(kSnapshot) where HDF5 cannot hold all these at once: one name twice, a dataset in the place of a group,
/// a name with an empty part.
void check_hdf5_names(const std::string& path, const std::vector<TensorEntry>& entries);

}  // namespace cortado

#pragma once

// Weights in HDF5, in BVLC Caffe's layout: /data/LAYER/I is blob I of a layer, /diff/LAYER/I its gradient. A '/' in a
// layer's name makes nested groups. A blob that a layer shares with an earlier one is omitted.

#include <optional>
#include <string>
#include <vector>

#include "formats/tensor_header.h"
#include "proto/weights/weights_file.h"

namespace cortado {

/// Whether the file begins with HDF5's signature, or has it after a user block. Never throws.
bool is_hdf5_file(const std::string& path);

/// Like read_weights(). A blob that the file omits among others of its layer is absent (proto/weights/weights_file.h).
/// Such files do not store types.
std::vector<LayerWeights> read_weights_hdf5(const std::string& path, std::string* digest = nullptr);

/// Writes the blobs that are not absent, atomically; returns the digest of the file's bytes. Throws like
/// check_hdf5_names().
std::string write_weights_hdf5(const std::string& path, const std::vector<LayerWeights>& layers);

/// The dataset of a blob. `group` is "data" or "diff".
TensorEntry hdf5_blob(const std::string& group, const std::string& layer, size_t index, const Shape& shape);

/// Throws Error(kSnapshot) if HDF5 cannot store all of these in one file: duplicate names, a dataset with the name of a
/// group, a name with an empty part.
void check_hdf5_names(const std::string& path, const std::vector<TensorEntry>& entries);

}  // namespace cortado

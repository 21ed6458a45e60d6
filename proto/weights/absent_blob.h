#pragma once

#include "proto/weights/weights_file.h"

namespace cortado {

/// Stands for a blob that a file leaves out because an earlier layer, which shares it, has it (HDF5 files of Caffe).
inline BlobFile absent_blob() { return {Shape{-1}, {}}; }
inline bool is_absent(const BlobFile& blob) { return blob.shape == Shape{-1}; }

}  // namespace cortado

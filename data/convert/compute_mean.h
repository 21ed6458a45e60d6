#pragma once

#include <string>

#include "data/progress.h"
#include "proto/cortado.pb.h"

namespace cortado::data {

/// The mean of every element over all records of an LMDB, as compute_image_mean writes it (num = 1). Sums run in
/// double, in key order. Throws Error as Lmdb::open does, and Error(kData) naming the key when a record cannot be read
/// or has another size.
caffe::BlobProto compute_mean(const std::string& lmdb, const Progress& progress = {});

}  // namespace cortado::data

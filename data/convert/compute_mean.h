#pragma once

#include <string>

#include "data/progress.h"
#include "proto/cortado.pb.h"

namespace cortado::data {

/// The mean of every element over all records of an LMDB, in the format of compute_image_mean (num = 1). Sums are in
/// double precision, in key order. Throws Error like Lmdb::open, and Error(kData) with the key if a record cannot be
/// read or has another size.
caffe::BlobProto compute_mean(const std::string& lmdb, const Progress& progress = {});

}  // namespace cortado::data

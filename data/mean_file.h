#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/convert.h"
#include "proto/cortado.pb.h"

namespace cortado::data {

/// The mean of a dataset for every element: channels x height x width, planar, blue-green-red.
struct MeanImage {
  std::string path;
  int channels = 0, height = 0, width = 0;
  std::vector<float> values;
};

/// Reads a mean: a .binaryproto (BlobProto with shape or the four old fields; float or double data) or a .npy array of
/// three extents, channels first, or four, the first of which is 1. Throws Error(kIo) or Error(kData) naming the file.
std::shared_ptr<const MeanImage> read_mean_file(const std::string& path);

/// The mean of every element over all records of an LMDB, as compute_image_mean writes it (num = 1). Sums run in
/// double, in key order. Throws Error as Lmdb::open does, and Error(kData) naming the key when a record cannot be read
/// or has another size.
caffe::BlobProto compute_mean(const std::string& lmdb, const Progress& progress = {});

}  // namespace cortado::data

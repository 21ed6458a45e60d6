#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cortado::data {

/// The mean of a dataset for every element: channels x height x width, planar, blue-green-red.
struct MeanImage {
  std::string path;
  int channels = 0, height = 0, width = 0;
  std::vector<float> values;
};

/// Reads a mean: a .binaryproto (BlobProto with shape or the four old fields; float or double data), or a .npy array
/// with three dimensions, channels first, or four, of which the first is 1. A clip's mean has the length after the
/// channels; each of its frames becomes a channel. Throws Error(kIo) or Error(kData) with the
/// file.
std::shared_ptr<const MeanImage> read_mean_file(const std::string& path);

}  // namespace cortado::data

#pragma once

// An image as a net's input: resized (bilinear), blue-green-red as Caffe has it, minus the mean of each channel, times a
// factor. What Caffe's example cpp_classification does.

#include <string>
#include <vector>

namespace cortado::tools {

struct Preparation {
  int channels = 0, height = 0, width = 0;
  std::vector<float> mean;  ///< per channel
  float scale = 1;
};

/// --mean: numbers, one for all channels or one for each, or a .binaryproto whose channels are averaged. Throws Error.
std::vector<float> channel_means(const std::string& text, int channels);

/// Writes the image in the file `path`, channel after channel. Throws Error or data::SampleError.
void prepare_image(const std::string& path, const Preparation& to, float* out);

}  // namespace cortado::tools

#pragma once

// C3D's files of volumes: five int32 (1, channels, length, height, width), then the values as floats or bytes.

#include <cstdint>
#include <string>
#include <vector>

namespace cortado::data {

struct Volume {
  int64_t channels = 0, length = 0, height = 0, width = 0;
  std::vector<float> values;

  int64_t count() const { return channels * length * height * width; }
  bool same_shape(const Volume& other) const;
  std::string shape_str() const;  ///< "3x16x128x171"
};

/// Reads a file; `volume` keeps its memory. Throws SampleError.
void read_volume(const std::string& path, bool bytes, Volume& volume);

}  // namespace cortado::data

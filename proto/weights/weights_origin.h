#pragma once

#include <string>

namespace cortado {

/// Which Caffe's way of writing weights. The three agree on layers and names, not on what the same bytes mean.
enum class Dialect { kBvlc, kNvidia, kIntel };

/// What a file of weights turned out to be.
struct WeightsOrigin {
  enum Container { kCaffemodel, kHdf5, kSafetensors, kNpz, kOnnx };

  Container container = kCaffemodel;
  Dialect dialect = Dialect::kBvlc;
  std::string net;                       ///< the net's name
  int year = 0;                          ///< 2013 or 2014 where layers are of those years
  bool halves = false, doubles = false;  ///< how some of the values are stored
  bool four_extents = false;             ///< some blobs have no shape, but num, channels, height and width
  int batch_norm_blobs = 0;              ///< the most that a BatchNorm has

  /// "NVIDIA dialect, 16-bit values, BatchNorm of 5 blobs".
  std::string str() const;
};

/// "BVLC", "NVIDIA" or "Intel".
std::string name_of(Dialect dialect);

}  // namespace cortado

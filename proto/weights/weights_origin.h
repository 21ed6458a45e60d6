#pragma once

#include <cstdint>
#include <string>

#include "formats/wire.h"

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

// A .caffemodel that a bit was flipped in is still a message, with another weight. Those written here say so: they
// begin and end with a field that Caffe's readers skip, a CRC-32C. The last one is of all bytes before it; the first is
// 0 and tells that a last one comes, so that a file cut between two layers is not taken for one without.
//
// A program that reads such a file and writes it anew keeps fields that it does not know, but not where they were: what
// does not begin with the first one is somebody else's file, and is not checked.

constexpr uint32_t kChecksumField = 10002;  ///< of NetParameter, see cortado.proto

/// The field as it stands in the file.
std::string checksum_field(uint32_t crc);

/// Throws where the file has checksums and is not what they are of.
void check_weights_checksum(const WireFile& file);

}  // namespace cortado

#pragma once

#include <cstdint>
#include <string>

#include "formats/wire.h"

namespace cortado {

/// The fork of Caffe that wrote weights. The three agree on layers and names, but the same bytes differ in meaning.
enum class Dialect { kBvlc, kNvidia, kIntel };

/// The origin of a weights file.
struct WeightsOrigin {
  enum Container { kCaffemodel, kHdf5, kSafetensors, kNpz, kOnnx };

  Container container = kCaffemodel;
  Dialect dialect = Dialect::kBvlc;
  std::string net;                       ///< the net's name
  int year = 0;                          ///< 2013 or 2014 if layers are in these formats
  bool halves = false, doubles = false;  ///< types of some of the values
  bool four_extents = false;             ///< some blobs have num, channels, height and width instead of a shape
  int batch_norm_blobs = 0;              ///< maximum over the BatchNorms

  /// "NVIDIA dialect, 16-bit values, BatchNorm of 5 blobs".
  std::string str() const;
};

/// "BVLC", "NVIDIA" or "Intel".
std::string name_of(Dialect dialect);

// A flipped bit in a .caffemodel yields another valid message with another weight. Files written here therefore begin
// and end with a CRC-32C, in a field that Caffe's readers skip. The last one covers all bytes before it. The first is 0
// and announces the last one, so that a file truncated between two layers does not pass for one without checksums.
//
// A program that reads such a file and writes it again keeps unknown fields, but not their positions. So a file that
// does not begin with the first field is another program's, and is not checked.

constexpr uint32_t kChecksumField = 10002;  ///< of NetParameter, see cortado.proto

/// The encoded field.
std::string checksum_field(uint32_t crc);

/// Throws if the file has checksums and they do not match.
void check_weights_checksum(const WireFile& file);

}  // namespace cortado

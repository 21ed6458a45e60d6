#pragma once

// A .caffemodel that a bit was flipped in is still a message, with another weight. Those written here say so: they
// begin and end with a field that Caffe's readers skip, a CRC-32C. The last one is of all bytes before it; the first is
// 0 and tells that a last one comes, so that a file cut between two layers is not taken for one without.
//
// A program that reads such a file and writes it anew keeps fields that it does not know, but not where they were: what
// does not begin with the first one is somebody else's file, and is not checked.

#include <cstdint>
#include <string>

#include "formats/wire.h"

namespace cortado {

constexpr uint32_t kChecksumField = 10002;  ///< of NetParameter, see cortado.proto

/// The field as it stands in the file.
std::string checksum_field(uint32_t crc);

/// Throws where the file has checksums and is not what they are of.
void check_weights_checksum(const WireFile& file);

}  // namespace cortado

#pragma once

#include <cstdint>
#include <string_view>

namespace cortado {

/// The CRC-32 of zip archives and PNGs, of bytes that come in pieces: `crc` is that of the pieces before, 0 at first.
uint32_t crc_of(std::string_view piece, uint32_t crc = 0);

/// The CRC-32C (Castagnoli's polynomial) of iSCSI, ext4 and TFRecords.
uint32_t crc32c_of(std::string_view bytes);

}  // namespace cortado

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cortado {

/// The CRC-32 of zip archives and PNGs, of bytes that come in pieces: `crc` is that of the pieces before, 0 at first.
uint32_t crc_of(std::string_view piece, uint32_t crc = 0);

/// The CRC-32C (Castagnoli's polynomial) of iSCSI, ext4 and TFRecords, of bytes that come in pieces, as above. x86-64
/// has an instruction for it.
uint32_t crc32c_of(std::string_view piece, uint32_t crc = 0);

/// That of each of `count` blocks of `size` bytes, a multiple of 8, one behind the other. Faster than one by one: the
/// instruction's results are waited for four at a time.
void crc32c_of_blocks(const uint8_t* bytes, size_t size, size_t count, uint32_t* crcs);

}  // namespace cortado

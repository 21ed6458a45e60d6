#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cortado {

/// CRC-32 as in zip and PNG. For data in pieces pass the CRC of the pieces before; 0 at first.
uint32_t crc_of(std::string_view piece, uint32_t crc = 0);

/// CRC-32C (Castagnoli) as in iSCSI, ext4 and TFRecord; pieces as above. Uses the x86-64 instruction.
uint32_t crc32c_of(std::string_view piece, uint32_t crc = 0);
/// The same on any CPU, slower.
uint32_t crc32c_by_table(std::string_view piece, uint32_t crc = 0);

/// The CRC-32C of each of `count` consecutive blocks of `size` bytes, a multiple of 8. Faster than separate calls: four
/// instructions are in flight at a time.
void crc32c_of_blocks(const uint8_t* bytes, size_t size, size_t count, uint32_t* crcs);

}  // namespace cortado

#include "core/crc.h"

#include <zlib.h>

#include <array>

namespace cortado {

namespace {

/// What each byte adds: the polynomial 0x1EDC6F41 with its bits in reverse.
constexpr std::array<uint32_t, 256> castagnoli_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0u);
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kCastagnoli = castagnoli_table();

}  // namespace

uint32_t crc_of(std::string_view piece, uint32_t crc) {
  if (piece.empty()) return crc;  // its pointer may be null, which begins anew
  return uint32_t(::crc32_z(crc, reinterpret_cast<const Bytef*>(piece.data()), piece.size()));
}

uint32_t crc32c_of(std::string_view bytes) {
  uint32_t crc = ~uint32_t(0);
  for (const char byte : bytes) crc = crc >> 8 ^ kCastagnoli[(crc ^ static_cast<unsigned char>(byte)) & 255];
  return ~crc;
}

}  // namespace cortado

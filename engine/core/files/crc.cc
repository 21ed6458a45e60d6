#include "core/files/crc.h"

#include <zlib.h>

#include <array>
#include <cstring>

namespace cortado {

namespace {

/// The table for the polynomial 0x1EDC6F41, bits reversed.
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

#ifdef __x86_64__
const bool has_instruction = __builtin_cpu_supports("sse4.2") > 0;

uint64_t eight(const uint8_t* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

__attribute__((target("sse4.2"))) uint32_t by_instruction(const uint8_t* bytes, size_t size, uint32_t crc) {
  uint64_t state = crc;
  for (; size >= 8; size -= 8, bytes += 8) state = __builtin_ia32_crc32di(state, eight(bytes));
  crc = uint32_t(state);
  for (; size > 0; --size, ++bytes) crc = __builtin_ia32_crc32qi(crc, *bytes);
  return crc;
}

__attribute__((target("sse4.2"))) void four_blocks(const uint8_t* bytes, size_t size, uint32_t* crcs) {
  uint64_t a = UINT32_MAX, b = a, c = a, d = a;
  for (size_t i = 0; i < size; i += 8) {
    a = __builtin_ia32_crc32di(a, eight(bytes + i));
    b = __builtin_ia32_crc32di(b, eight(bytes + size + i));
    c = __builtin_ia32_crc32di(c, eight(bytes + 2 * size + i));
    d = __builtin_ia32_crc32di(d, eight(bytes + 3 * size + i));
  }
  const uint64_t all[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) crcs[i] = ~uint32_t(all[i]);
}
#endif

}  // namespace

uint32_t crc_of(std::string_view piece, uint32_t crc) {
  if (piece.empty()) return crc;  // zlib resets the CRC on a null pointer
  return uint32_t(::crc32_z(crc, reinterpret_cast<const Bytef*>(piece.data()), piece.size()));
}

uint32_t crc32c_of(std::string_view piece, uint32_t crc) {
#ifdef __x86_64__
  if (has_instruction) return ~by_instruction(reinterpret_cast<const uint8_t*>(piece.data()), piece.size(), ~crc);
#endif
  return crc32c_by_table(piece, crc);
}

uint32_t crc32c_by_table(std::string_view piece, uint32_t crc) {
  crc = ~crc;
  for (const char byte : piece) crc = crc >> 8 ^ kCastagnoli[(crc ^ uint8_t(byte)) & 255];
  return ~crc;
}

void crc32c_of_blocks(const uint8_t* bytes, size_t size, size_t count, uint32_t* crcs) {
#ifdef __x86_64__
  for (; has_instruction && count >= 4; count -= 4, bytes += 4 * size, crcs += 4) four_blocks(bytes, size, crcs);
#endif
  for (size_t i = 0; i < count; ++i) crcs[i] = crc32c_of({reinterpret_cast<const char*>(bytes + i * size), size});
}

}  // namespace cortado

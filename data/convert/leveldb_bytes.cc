#include "data/convert/leveldb_bytes.h"

#include <array>

#include "core/file_error.h"

namespace cortado::data {

namespace {

constexpr uint32_t kCastagnoli = 0x82F63B78;  // the polynomial, lowest power first
constexpr uint32_t kMoved = 0xA282EAD8;

constexpr std::array<uint32_t, 256> kTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t rest = i;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? kCastagnoli : 0);
    table[i] = rest;
  }
  return table;
}();

}  // namespace

void throw_damaged_leveldb(const std::string& file, const std::string& what) {
  throw file_error(ExitCode::kData, file, "damaged LevelDB: " + what,
                   "copy the dataset again, or make an LMDB of the images it came from with `cortado convert`");
}

std::string_view LeveldbBytes::take(uint64_t n) {
  if (n > rest_.size()) throw_damaged_leveldb(file_, "a record ends too early");
  const std::string_view taken = rest_.substr(0, n);
  rest_.remove_prefix(n);
  return taken;
}

uint64_t LeveldbBytes::fixed(int bytes) {
  const std::string_view taken = take(uint64_t(bytes));
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= uint64_t(uint8_t(taken[size_t(i)])) << 8 * i;
  return value;
}

uint64_t LeveldbBytes::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint64_t byte = fixed(1);
    value |= (byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  throw_damaged_leveldb(file_, "a number has no end");
}

bool checksum_fits(std::string_view bytes, uint32_t written) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) crc = crc >> 8 ^ kTable[(crc ^ uint8_t(byte)) & 0xFF];
  crc = ~crc;
  return (crc >> 15 | crc << 17) + kMoved == written;
}

}  // namespace cortado::data

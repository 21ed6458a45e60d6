#include "core/files/crc.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/rng.h"

namespace cortado {
namespace {

/// The definition: the polynomial's remainder, bit by bit.
uint32_t by_definition(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= uint8_t(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0u);
  }
  return ~crc;
}

std::string random_bytes(size_t size) {
  RandomStream random(size + 1);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = char(random.below(256));
  return bytes;
}

TEST(Crc32c, FollowsTheDefinition) {
  for (size_t size = 0; size < 70; ++size) {
    const std::string bytes = random_bytes(size);
    EXPECT_EQ(crc32c_of(bytes), by_definition(bytes)) << size;
    EXPECT_EQ(crc32c_by_table(bytes), by_definition(bytes)) << size;
  }
}

TEST(Crc32c, AcceptsPieces) {
  const std::string bytes = random_bytes(100);
  for (size_t first = 0; first <= 100; ++first)
    for (const auto crc : {crc32c_of, crc32c_by_table})
      EXPECT_EQ(crc(std::string_view(bytes).substr(first), crc(std::string_view(bytes).substr(0, first), 0)),
                by_definition(bytes));
}

TEST(Crc32c, OfBlocksEqualsEach) {
  const std::string bytes = random_bytes(11 * 512);
  for (size_t count = 0; count <= 11; ++count) {
    std::vector<uint32_t> crcs(count);
    crc32c_of_blocks(reinterpret_cast<const uint8_t*>(bytes.data()), 512, count, crcs.data());
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(crcs[i], by_definition(std::string_view(bytes).substr(i * 512, 512)));
  }
}

}  // namespace
}  // namespace cortado

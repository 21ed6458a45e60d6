// Vectors of 16 bfloat16 values compared with scalars.

#include "kernels/cpu/bfloat16.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <vector>

namespace cortado::kernels {
namespace {

/// Floats of every exponent, with midpoints of two bfloat16 values and their neighbours, and NaNs of all kinds.
std::vector<float> values() {
  std::vector<float> list;
  for (uint32_t high = 0; high < 0x10000; high += 0x23)
    for (const uint32_t low : {0x0000u, 0x0001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu})
      list.push_back(std::bit_cast<float>(high << 16 | low));
  for (const uint32_t bits :
       {0x7F800000u, 0xFF800000u, 0x7F800001u, 0xFF800001u, 0x7FFFFFFFu, 0xFFFFFFFFu, 0x7F7FFFFFu})
    list.push_back(std::bit_cast<float>(bits));
  while (list.size() % kLanes) list.push_back(0);
  return list;
}

TEST(Bfloat16, VectorsRoundLikeScalars) {
  const std::vector<float> list = values();
  for (size_t i = 0; i < list.size(); i += kLanes) {
    alignas(64) BFloat16 all[kLanes], streamed[kLanes];
    store(all, load(&list[i]));
    stream(streamed, load(&list[i]));
    for (size_t k = 0; k < kLanes; ++k) {
      EXPECT_EQ(all[k].bits, BFloat16(list[i + k]).bits) << std::hex << std::bit_cast<uint32_t>(list[i + k]);
      EXPECT_EQ(streamed[k].bits, all[k].bits);
    }
  }
}

TEST(Bfloat16, VectorsLoadLikeScalars) {
  for (uint32_t first = 0; first < 0x10000; first += kLanes) {
    BFloat16 stored[kLanes];
    for (uint32_t k = 0; k < kLanes; ++k) stored[k].bits = uint16_t(first + k);
    const Lanes lanes = lanes_of(load(stored));
    for (int k = 0; k < kLanes; ++k)
      EXPECT_EQ(std::bit_cast<uint32_t>(lanes[k]), std::bit_cast<uint32_t>(float(stored[k])));
  }
}

TEST(Bfloat16, PartialStoresKeepOtherLanes) {
  for (int n = 0; n <= kLanes; ++n) {
    std::vector<BFloat16> memory(size_t(n), 1.5f);  // memory past the end is not read
    const Lanes lanes = lanes_of(load_some(memory.data(), n));
    BFloat16 to[kLanes + 1];
    for (BFloat16& value : to) value = 7.0f;
    store_some(to, spread(2.5f), n);
    for (int k = 0; k < kLanes; ++k) {
      EXPECT_EQ(lanes[k], k < n ? 1.5f : 0.0f);
      EXPECT_EQ(float(to[k]), k < n ? 2.5f : 7.0f);
    }
    EXPECT_EQ(float(to[kLanes]), 7.0f);
  }
}

}  // namespace
}  // namespace cortado::kernels

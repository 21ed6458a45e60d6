#include "core/arena.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <regex>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/process/sanitized.h"

namespace cortado {
namespace {

TEST(Arena, IsZeroedAlignedAndWritable) {
  for (size_t bytes : {size_t(1), size_t(4096), size_t(100'000), (size_t(2) << 20) + 1, size_t(9) << 20}) {
    const Arena arena(bytes);
    ASSERT_NE(arena.data(), nullptr);
    EXPECT_EQ(arena.bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % 64, 0u);
    EXPECT_TRUE(std::all_of(arena.data(), arena.data() + bytes, [](std::byte b) { return b == std::byte{0}; }));
    std::fill(arena.data(), arena.data() + bytes, std::byte{1});
  }
}

TEST(Arena, LargeArenasStartOnAHugePage) {
  EXPECT_EQ(reinterpret_cast<uintptr_t>(Arena(size_t(5) << 20).data()) % (size_t(2) << 20), 0u);
}

TEST(Arena, EmptyArenaHasNoMemory) {
  EXPECT_EQ(Arena().data(), nullptr);
  EXPECT_EQ(Arena(0).data(), nullptr);
}

TEST(Arena, MovesMemory) {
  Arena a(100);
  std::byte* data = a.data();
  Arena b(std::move(a));
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(a.data(), nullptr);
  Arena c(50);
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
  EXPECT_EQ(c.bytes(), 100u);
}

TEST(Arena, TooMuchMemoryIsAnErrorWithTheSize) {
  for (size_t bytes : {size_t(1) << 50, ~size_t(0)}) {
    try {
      const Arena arena(bytes);
      FAIL() << bytes << " bytes were allocated";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kDevice);
      EXPECT_NE(std::string(error.what()).find("MiB are needed"), std::string::npos) << error.what();
    }
  }
}

TEST(Arena, ProcessLimitsApply) {
  if (kSanitized) GTEST_SKIP() << "sanitizers map more than any limit";
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit before;
    ASSERT_EQ(::getrlimit(resource, &before), 0);
    const rlimit small{size_t(2) << 30, before.rlim_max};
    ASSERT_EQ(::setrlimit(resource, &small), 0);
    std::string told;
    try {
      const Arena arena(size_t(3) << 30);
    } catch (const Error& error) {
      told = error.what();
    }
    ::setrlimit(resource, &before);
    std::smatch numbers;
    ASSERT_TRUE(std::regex_search(told, numbers, std::regex("(\\d+) MiB are needed, (\\d+) MiB are available")))
        << told;
    EXPECT_EQ(numbers[1], "3072");
    EXPECT_LE(std::stoi(numbers[2]), 2048);
    EXPECT_GT(std::stoi(numbers[2]), 1024);
  }
}

TEST(Arena, MemoryIsFreed) {
  for (int i = 0; i < 2000; ++i) {
    const Arena arena(size_t(256) << 20);
    arena.data()[size_t(i) * 4096] = std::byte{1};
  }
}

}  // namespace
}  // namespace cortado

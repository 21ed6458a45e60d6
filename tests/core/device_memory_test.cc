#include "core/device/device_memory.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/device/simulated_device.h"
#include "core/error.h"

namespace cortado {
namespace {

TEST(DeviceMemoryTest, CopiesThereAndBack) {
  for (const DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kSimulated}) {
    Context context({.device = {kind, 0}});
    DeviceMemory a(context, 64), b(context, 64);
    std::vector<char> sent(64, 7), got(64, 1);
    copy_to_host(context, got.data(), a.data(), 64);
    EXPECT_EQ(got, std::vector<char>(64, 0)) << "not zeroed";
    copy_to_device(context, a.data(), sent.data(), 64);
    copy_on_device(context, b.data(), a.data(), 64);
    clear_on_device(context, b.data(), 32);
    copy_to_host(context, got.data(), b.data(), 64);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(got[size_t(i)], i < 32 ? 0 : 7);
  }
}

TEST(DeviceMemoryDeathTest, HostAccessToASimulatedDeviceFaults) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  Context context({.device = {DeviceKind::kSimulated, 0}});
  DeviceMemory memory(context, 64);
  volatile std::byte* data = memory.data();
  EXPECT_DEATH({ data[0] = std::byte(1); }, "");
  const DeviceAccess access(context);
  data[0] = std::byte(1);  // a kernel would run here
}

TEST(DeviceMemoryTest, PinnedMemoryHasItsBytes) {
  Context context(1);
  for (const size_t bytes : {1, 64}) {
    PinnedMemory memory(context, bytes);
    ASSERT_NE(memory.data(), nullptr);
    memory.data()[bytes - 1] = std::byte(7);
  }
  EXPECT_EQ(PinnedMemory(context, 0).data(), nullptr);
}

TEST(DeviceMemoryTest, WithoutCudaThrows) { EXPECT_THROW(Context({.device = {DeviceKind::kCuda, 99}}), Error); }

}  // namespace
}  // namespace cortado

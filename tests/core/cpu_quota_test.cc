// Control groups, as files in a temporary folder.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/cpu/cpu.h"
#include "core/threads/threads.h"

namespace cortado {
namespace {

class CpuQuota : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "cpu_quota_" + std::to_string(getpid());
    std::filesystem::create_directories(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  std::string root_;
};

TEST_F(CpuQuota, IsInfiniteWithoutGroups) { EXPECT_EQ(cpu_quota(root_), INFINITY); }

TEST_F(CpuQuota, IsTheMinimumOfAGroupAndItsAncestors) {
  write("/proc/self/cgroup", "0::/a/b/c\n");
  write("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
  EXPECT_EQ(cpu_quota(root_), INFINITY);
  write("/sys/fs/cgroup/a/b/cpu.max", "350000 100000\n");
  EXPECT_EQ(cpu_quota(root_), 3.5);
  write("/sys/fs/cgroup/a/cpu.max", "75000 50000\n");
  EXPECT_EQ(cpu_quota(root_), 1.5);
  write("/sys/fs/cgroup/a/b/c/cpu.max", "200000 100000\n");
  EXPECT_EQ(cpu_quota(root_), 1.5);
}

TEST_F(CpuQuota, IsReadAtTheRootOfAContainer) {
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(cpu_quota(root_), 1.5);
  write("/proc/self/cgroup", "0::/docker/that/is/not/seen/here\n");
  EXPECT_EQ(cpu_quota(root_), 1.5);
}

TEST_F(CpuQuota, ReadsVersion1) {
  write("/proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/docker/5a\n2:cpuset:/s\n");
  write("/sys/fs/cgroup/cpu,cpuacct/docker/5a/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/docker/5a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_quota(root_), INFINITY);
  write("/sys/fs/cgroup/cpu,cpuacct/docker/5a/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(cpu_quota(root_), 2.5);
  write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_quota(root_), 2);
}

TEST_F(CpuQuota, IgnoresInvalidFiles) {
  write("/proc/self/cgroup", "\n:\n0:\nx:y:z\n0::/a\n");
  for (const char* text :
       {"", "max", "one two", "100000", "0 100000", "-5 100000", "100000 0", "100000 -1", "1e999 1"}) {
    write("/sys/fs/cgroup/a/cpu.max", text);
    EXPECT_EQ(cpu_quota(root_), INFINITY) << text;
  }
}

TEST_F(CpuQuota, LimitsTheThreads) {
  EXPECT_GE(default_threads(), 1);
  EXPECT_LE(default_threads(), std::ceil(std::min(cpu_quota(), 1e6)));
}

}  // namespace
}  // namespace cortado

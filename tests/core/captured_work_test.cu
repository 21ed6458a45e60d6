// Recorded work on the simulated device, which reproduces the errors of CUDA graphs.

#include <gtest/gtest.h>

#include "core/device/async_readback.h"
#include "core/device/captured_work.h"
#include "core/device/device_memory.h"
#include "core/device/sync_counter.h"
#include "core/loops/for_each.h"

namespace cortado {
namespace {

struct AddNumber {
  float* to;
  float number;
  CORTADO_HD void operator()(int64_t) const { *to += number; }
};

class CapturedWorkTest : public testing::Test {
 protected:
  explicit CapturedWorkTest(bool captures = true)
      : context({.device = {DeviceKind::kSimulated, 0}, .captures = captures}), memory(context, sizeof(float)) {}
  float* word() const { return reinterpret_cast<float*>(memory.data()); }
  float value() {
    float seen = 0;
    copy_to_host(context, &seen, word(), sizeof seen);
    return seen;
  }

  Context context;
  DeviceMemory memory;
  CapturedWork work;
};

TEST_F(CapturedWorkTest, RepeatsRecordedWorkWithItsArguments) {
  int calls = 0;
  for (int run = 1; run <= 6; ++run)
    work.run(context, [&] {
      ++calls;
      for_each(context, 1, AddNumber{word(), float(run)});
    });
  EXPECT_EQ(calls, 3) << "two normal runs and the recorded one";
  EXPECT_EQ(value(), 1 + 2 + 4 * 3) << "arguments keep their recorded values";
}

class EagerWorkTest : public CapturedWorkTest {
 protected:
  EagerWorkTest() : CapturedWorkTest(/*captures=*/false) {}
};

TEST_F(EagerWorkTest, RunsWithoutRecording) {
  for (int run = 1; run <= 6; ++run) work.run(context, [&] { for_each(context, 1, AddNumber{word(), float(run)}); });
  EXPECT_EQ(value(), 21);
}

TEST_F(CapturedWorkTest, WaitingAndAllocatingThrow) {
  const std::function<void()> forbidden[] = {[&] { synchronize(context); },
                                             [&] { value(); },
                                             [&] { copy_to_device(context, word(), &context.threads, 4); },
                                             [&] { DeviceMemory(context, 64); },
                                             [&] { copy_to_device_later(context, word(), &context.threads, 4); },
                                             [&] { AsyncReadback(context, 0).begin(context, word()); }};
  for (const auto& step : forbidden) {
    CapturedWork captured;
    captured.run(context, step);
    captured.run(context, step);
    EXPECT_THROW(captured.run(context, step), std::exception);
    EXPECT_EQ(context.recording, nullptr);
  }
}

TEST_F(CapturedWorkTest, RecordsCopiesAndFills) {
  DeviceMemory other(context, sizeof(float));
  for (int run = 0; run < 5; ++run)
    work.run(context, [&] {
      copy_on_device(context, other.data(), word(), sizeof(float));
      clear_on_device(context, word(), sizeof(float));
      for_each(context, 1, AddNumber{reinterpret_cast<float*>(other.data()), 1});
      copy_on_device(context, word(), other.data(), sizeof(float));
    });
  EXPECT_EQ(value(), 5);
}

TEST_F(CapturedWorkTest, WritesTheRecordedWord) {
  DeviceMemory counter(context, sizeof(uint64_t));
  auto* to = reinterpret_cast<uint64_t*>(counter.data());
  uint64_t number = uint64_t(1) << 40, seen = 0;
  put_on_device(context, to, number);
  number = 0;
  copy_to_host(context, &seen, to, sizeof seen);
  EXPECT_EQ(seen, uint64_t(1) << 40);
}

TEST_F(CapturedWorkTest, AsyncReadbackIgnoresLaterWork) {
  AsyncReadback copies[2] = {{context, sizeof(float)}, {context, sizeof(float)}};
  const auto number = [](AsyncReadback& copy) { return *reinterpret_cast<const float*>(copy.wait()); };
  const int64_t waits = context.handle<SyncCounter>().full;
  for (int turn = 0; turn < 2; ++turn) {
    for (AsyncReadback& copy : copies) {
      for_each(context, 1, AddNumber{word(), 1});
      copy.begin(context, word());
    }
    EXPECT_EQ(number(copies[0]), float(2 * turn + 1));
    EXPECT_EQ(number(copies[1]), float(2 * turn + 2));
  }
  EXPECT_EQ(context.handle<SyncCounter>().full, waits);
  synchronize(context);
  EXPECT_EQ(context.handle<SyncCounter>().full, waits + 1);
}

}  // namespace
}  // namespace cortado

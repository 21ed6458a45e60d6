#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <vector>

#include "core/error.h"
#include "core/process/sanitized.h"
#include "core/threads/thread_pool.h"

namespace cortado {
namespace {

TEST(StartThread, RunsItsBody) {
  std::atomic<int> runs{0};
  for (int i = 0; i < 5; ++i) start_thread([&] { ++runs; }).join();
  EXPECT_EQ(runs, 5);
}

TEST(StartThread, StartsAsManyAsAsked) {
  std::atomic<int> runs{0};
  start_threads(
      5, [&] { ++runs; }, [] { FAIL(); })
      .clear();
  EXPECT_EQ(runs, 5);
}

TEST(StartThread, FailureIsAnErrorAndOtherThreadsEnd) {
  if (kSanitized) GTEST_SKIP() << "sanitizers map more than any limit";
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit small{size_t(1) << 30, before.rlim_max};
  std::atomic<bool> go{false};
  std::atomic<int> running{0}, returned{0};
  std::string message;
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &small), 0);
  try {  // each has a stack of several megabytes
    start_threads(
        5000,
        [&] {
          ++running;
          go.wait(false);
          ++returned;
        },
        [&] {
          go = true;
          go.notify_all();
        });
  } catch (const Error& error) {
    message = error.what();
    EXPECT_EQ(error.code(), ExitCode::kDevice);
  }
  ::setrlimit(RLIMIT_AS, &before);
  EXPECT_NE(message.find("cannot start a thread: Resource temporarily unavailable"), std::string::npos) << message;
  EXPECT_GT(running, 0);
  EXPECT_EQ(returned, running);
}

}  // namespace
}  // namespace cortado

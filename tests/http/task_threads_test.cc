#include "http/task_threads.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>

#include "core/error.h"
#include "core/process/sanitized.h"
#include "http/request_error.h"

namespace cortado::http {
namespace {

TEST(TaskThreads, waiting_tasks_run_at_the_end) {
  std::atomic<int> done{0};
  {
    TaskThreads threads(1000, 4);
    for (int i = 0; i < 1000; ++i) threads.post([&] { ++done; });
  }
  EXPECT_EQ(done, 1000);
}

TEST(TaskThreads, too_many_tasks_are_refused) {
  std::atomic<bool> go{false};
  TaskThreads threads(1);
  threads.post([&] { go.wait(false); });
  int refused = 0;
  for (int i = 0; i < 3; ++i) try {
      threads.post([] {});
    } catch (const RequestError&) {
      ++refused;
    }
  EXPECT_GE(refused, 2);
  go = true;
  go.notify_all();
}

TEST(TaskThreads, a_thread_that_cannot_start_is_an_error_and_the_others_end) {
  if (kSanitized) GTEST_SKIP() << "sanitizers map more memory than any limit";
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit small{size_t(1) << 30, before.rlim_max};
  std::string told;
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &small), 0);
  try {  // each thread has a stack of several megabytes
    TaskThreads threads(1, 5000);
  } catch (const Error& error) {
    told = error.what();
    EXPECT_EQ(error.code(), ExitCode::kDevice);
  }
  ::setrlimit(RLIMIT_AS, &before);
  EXPECT_NE(told.find("cannot start a thread"), std::string::npos) << told;
}

}  // namespace
}  // namespace cortado::http

#include "core/threads/thread_pool.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "core/threads/threads.h"

namespace cortado {
namespace {

ThreadPool& pool() { return ThreadPool::shared(); }

TEST(ThreadPool, TheCallerIsWorker0) {
  for (int i = 0; i < 200; ++i) {
    std::mutex mutex;
    std::set<int> workers;
    const std::thread::id caller = std::this_thread::get_id();
    pool().run(3, [&](int worker) {
      EXPECT_EQ(worker == 0, std::this_thread::get_id() == caller);
      EXPECT_LT(worker, 3);
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(workers.insert(worker).second);
    });
    EXPECT_TRUE(workers.contains(0));
  }
}

TEST(ThreadPool, OthersHelpWhileTheCallerWorks) {
  std::atomic<bool> helped = false;
  pool().run(2, [&](int worker) {
    if (worker > 0) helped = true;
    while (!helped) std::this_thread::yield();  // does not end without a helper
  });
  EXPECT_TRUE(helped);
}

/// In every thread a handler replaces lost pages of a truncated mapped file.
TEST(ThreadPool, HelpersBlockSignalsButNotFaults) {
  std::atomic<bool> asked = false;
  sigset_t blocked;
  pool().run(2, [&](int worker) {
    if (worker > 0) {
      ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
      asked = true;
    }
    while (!asked) std::this_thread::yield();
  });
  for (const int sent : {SIGINT, SIGTERM, SIGUSR1}) EXPECT_TRUE(::sigismember(&blocked, sent)) << sent;
  for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP}) EXPECT_FALSE(::sigismember(&blocked, fault));
}

/// All helpers are stuck in another caller's work; this caller still finishes.
TEST(ThreadPool, ACallerDoesNotWaitForIdleHelpers) {
  constexpr int kThreads = 4;
  std::atomic<int> held = 0;
  std::atomic<bool> release = false;
  std::thread other([&] {
    pool().run(kThreads, [&](int) {
      ++held;
      while (!release) std::this_thread::yield();
    });
  });
  while (held < kThreads) std::this_thread::yield();
  Context context(kThreads);
  std::atomic<int64_t> sum = 0;
  parallel_ranges(context, 1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 1000);
  release = true;
  other.join();
}

TEST(ThreadPool, ServesManyCallersAtOnce) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int caller = 0; caller < 40; ++caller)  // more callers than slots
    callers.emplace_back([&] {
      Context context(3);
      for (int i = 0; i < 100; ++i) {
        std::atomic<int64_t> sum = 0;
        parallel_ranges(context, 100, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
        wrong += sum != 100;
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, ReportsThreadsInsideRun) {
  EXPECT_FALSE(ThreadPool::is_inside());
  pool().run(2, [&](int) { EXPECT_TRUE(ThreadPool::is_inside()); });
  EXPECT_FALSE(ThreadPool::is_inside());
}

}  // namespace
}  // namespace cortado

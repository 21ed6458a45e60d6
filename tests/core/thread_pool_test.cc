#include "core/threads/thread_pool.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "core/threads/threads.h"

namespace cortado {
namespace {

ThreadPool& pool() { return ThreadPool::shared(); }

TEST(ThreadPool, TheCallerIsWorker0) {
  const std::thread::id caller = std::this_thread::get_id();
  for (int i = 0; i < 200; ++i)
    pool().run(3, 20, [&](int64_t, int worker) {
      EXPECT_EQ(worker == 0, std::this_thread::get_id() == caller);
      EXPECT_LT(worker, 3);
    });
}

TEST(ThreadPool, RunsEveryPieceOnce) {
  for (const int threads : {1, 2, 3, 100})
    for (const int64_t pieces : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(pieces));
      pool().run(threads, pieces, [&](int64_t piece, int) { ++runs[size_t(piece)]; });
      for (const auto& count : runs) EXPECT_EQ(count, 1) << threads << " threads, " << pieces << " pieces";
    }
}

/// The first piece of each thread waits for one of another thread.
TEST(ThreadPool, OthersHelpWhileTheCallerWorks) {
  std::atomic<bool> helped = false;
  pool().run(2, 2, [&](int64_t, int worker) {
    if (worker > 0) helped = true;
    while (!helped) std::this_thread::yield();  // does not end without a helper
  });
  EXPECT_TRUE(helped);
}

/// A thread takes the pieces of its own part in order, then the others' from the end.
TEST(ThreadPool, TakesItsOwnPartFirst) {
  std::atomic<bool> held = false;
  std::atomic<int> left = 9;
  std::mutex mutex;
  std::vector<int64_t> taken;
  pool().run(2, 10, [&](int64_t piece, int worker) {
    if (worker == 1) {  // holds its first piece until the caller has run all others
      held = true;
      while (left > 0) std::this_thread::yield();
      return;
    }
    while (!held) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    taken.push_back(piece);
    --left;
  });
  EXPECT_EQ(taken, (std::vector<int64_t>{0, 1, 2, 3, 4, 9, 8, 7, 6}));
}

/// In every thread a handler replaces lost pages of a truncated mapped file.
TEST(ThreadPool, HelpersBlockSignalsButNotFaults) {
  std::atomic<bool> asked = false;
  sigset_t blocked;
  pool().run(2, 2, [&](int64_t, int worker) {
    if (worker > 0) {
      ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
      asked = true;
    }
    while (!asked) std::this_thread::yield();
  });
  for (const int sent : {SIGINT, SIGTERM, SIGUSR1}) EXPECT_TRUE(::sigismember(&blocked, sent)) << sent;
  for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP}) EXPECT_FALSE(::sigismember(&blocked, fault));
}

/// All helpers are stuck in another caller's pieces; this caller still finishes.
TEST(ThreadPool, ACallerDoesNotWaitForHelpersWithoutItsPieces) {
  constexpr int kThreads = 4;
  std::atomic<int> held = 0;
  std::atomic<bool> release = false;
  std::thread other([&] {
    pool().run(kThreads, kThreads, [&](int64_t, int) {
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
    callers.emplace_back([&, caller] {
      Context context(2 + caller % 3);
      for (int i = 0; i < 100; ++i) {
        std::atomic<int64_t> sum = 0;
        std::atomic<int> workers = 0;
        parallel_ranges(context, 100, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
        in_pieces(context, 20, [&](int64_t, int worker) { workers += worker >= context.threads; });
        wrong += sum != 100 || workers > 0;
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, ReportsThreadsInsideRun) {
  EXPECT_FALSE(ThreadPool::is_inside());
  pool().run(2, 2, [](int64_t, int) {
    EXPECT_TRUE(ThreadPool::is_inside());
    pool().run(2, 2, [](int64_t, int worker) { EXPECT_EQ(worker, 0); });
    EXPECT_TRUE(ThreadPool::is_inside());
  });
  EXPECT_FALSE(ThreadPool::is_inside());
}

}  // namespace
}  // namespace cortado

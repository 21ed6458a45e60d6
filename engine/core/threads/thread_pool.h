#pragma once

// The process's compute threads, shared by all callers: several nets at once use no more threads than one.
//
// Why not OpenMP: at the end of a parallel region it waits for every thread of its team. That takes milliseconds if
// another process occupies a thread's CPU, even if the thread has done nothing. Here the caller runs its loop, idle
// threads help, and the caller waits only for helpers that have started.

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "core/function_ref.h"

namespace cortado {

class ThreadPool {
 public:
  /// The singleton. Never destroyed, because threads may sleep in it when the process exits.
  static ThreadPool& shared();

  /// Runs work(0) in the calling thread, and work(i) with 0 < i < `threads` in other threads that become free before
  /// work(0) returns, each i at most once. Returns when all started calls have returned. `work` must complete
  /// everything whether or not others join, and must not throw. Any number of threads may call this at the same time.
  void run(int threads, FunctionRef<void(int worker)> work);

  /// Creates the threads for a run() with `threads`.
  void reserve(int threads) {
    if (threads - 1 > helpers_.load(std::memory_order_relaxed)) grow(threads - 1);
  }

  /// Whether the calling thread is inside run().
  static bool is_inside();

 private:
  ThreadPool();

  /// The work of one caller. Slots are never freed, so that a helper may read one after its caller has left.
  struct alignas(64) Slot {
    std::atomic<bool> taken = false;
    std::atomic<uint32_t> state = 0;  ///< kOpen, the number of helpers that joined, and the number still active
    std::atomic<uint32_t> most = 0;   ///< maximum number of helpers
    const FunctionRef<void(int)>* work = nullptr;
  };
  static constexpr int kSlots = 32;

  Slot* take_slot();
  static bool join(Slot& slot);
  static void close(Slot& slot);
  bool help();
  void wait_for_work(uint32_t seen);
  void serve();
  void grow(int helpers);
  void forget_helpers();

  Slot slots_[kSlots];
  std::atomic<uint32_t> news_ = 0;  ///< incremented when a slot opens; helpers sleep on it
  std::atomic<int> helpers_ = 0;
  std::atomic<bool> growing_ = false;
};

/// Starts a thread that runs `body`, which must not throw. Throws Error(kDevice) if the system refuses.
std::jthread start_thread(std::function<void()> body);

/// Starts `count` of them. If one cannot be started, calls `end`, after which the others must return, joins them and
/// throws.
std::vector<std::jthread> start_threads(int count, const std::function<void()>& body, const std::function<void()>& end);

}  // namespace cortado

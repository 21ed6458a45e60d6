#pragma once

// The process's compute threads, shared by all who compute: several nets at once do not have more threads than one.
//
// Why not OpenMP's: at the end of a parallel region it waits for every thread of its team, also for one that has done
// nothing because the system runs another process on its CPU, for milliseconds. Here a loop is the caller's, and
// whoever is free helps; the caller waits only for helpers that have begun.

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "core/function_ref.h"

namespace cortado {

class ThreadPool {
 public:
  /// The one pool. It is never destroyed: threads may be asleep in it when the process ends.
  static ThreadPool& shared();

  /// work(0) in the calling thread and, as far as threads are free before it has returned, work(i) in others, with
  /// 0 < i < `threads`, each i at most once. Returns when all that began have returned. So `work` has to do all there
  /// is to do, whether others join or not; it does not throw. Any number of threads may call this at once.
  void run(int threads, FunctionRef<void(int worker)> work);

  /// Makes the threads that a run() with so many would make.
  void reserve(int threads) {
    if (threads - 1 > helpers_.load(std::memory_order_relaxed)) grow(threads - 1);
  }

  /// Whether the calling thread is within run().
  static bool is_inside();

 private:
  ThreadPool() = default;

  /// What one caller wants done. Slots stay, so that a helper may look at one whose caller has long gone.
  struct alignas(64) Slot {
    std::atomic<bool> taken = false;
    std::atomic<uint32_t> state = 0;  ///< kOpen, how many have joined, how many of them have not left
    std::atomic<uint32_t> most = 0;   ///< helpers
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

  Slot slots_[kSlots];
  std::atomic<uint32_t> news_ = 0;  ///< grows with every slot that opens; helpers sleep on it
  std::atomic<int> helpers_ = 0;
  std::atomic<bool> growing_ = false;
};

/// A thread that runs `body`, which does not throw. Throws Error(kDevice) where the system gives no more threads.
std::jthread start_thread(std::function<void()> body);

}  // namespace cortado

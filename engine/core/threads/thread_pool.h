#pragma once

// The process's compute threads, shared by all callers: several nets at once use no more threads than one.
//
// Why not OpenMP: at the end of a parallel region it waits for every thread of its team. That takes milliseconds if
// another process occupies a thread's CPU, even if the thread has done nothing. Here work consists of pieces, free
// threads take them, and the caller waits for pieces, not for threads: a preempted thread that holds none delays
// nobody.

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "core/function_ref.h"

namespace cortado {

class ThreadPool {
 public:
  using Work = FunctionRef<void(int64_t piece, int worker)>;

  /// The singleton. Never destroyed, because threads may sleep in it when the process exits.
  static ThreadPool& shared();

  /// Runs work(piece, worker) once for each piece in [0, pieces), in the calling thread, which is worker 0, and in up
  /// to `threads` - 1 free ones. Returns when all pieces are done. A worker has a number below `threads` and runs one
  /// piece at a time. It takes pieces of its own equal part in order, then from the ends of the others' parts. `work`
  /// must not throw, and results must not depend on the worker. Any number of threads may call this at the same time; a
  /// call inside a piece runs in the same thread.
  void run(int threads, int64_t pieces, Work work);

  /// Creates the threads for a run() with `threads`.
  void reserve(int threads) {
    if (threads - 1 > helpers_.load(std::memory_order_relaxed)) grow(threads - 1);
  }

  /// Whether the calling thread is inside run().
  static bool is_inside();

 private:
  ThreadPool();

  /// The pieces of a part that nobody has taken: `begin` and `end`, kPieceBits each, and the number of threads. One
  /// word, so that a thread which takes a piece with compare-and-exchange knows that all three are current.
  struct alignas(64) Part {
    std::atomic<uint64_t> left = 0;
  };
  struct Left;
  static constexpr int kParts = 64, kPieceBits = 24;
  static constexpr int64_t kMaxPieces = (int64_t(1) << kPieceBits) - 1;

  /// The work of one caller. Slots are never freed, so that a helper may read one after its caller has left.
  struct alignas(64) Slot {
    std::atomic<bool> taken = false;
    std::atomic<int> parts = 0;
    const Work* work = nullptr;  ///< read only by threads that hold a piece
    std::atomic<uint32_t> unfinished = 0;
    Part part[kParts];
  };
  static constexpr int kSlots = 32;

  Slot* take_slot();
  void offer(Slot& slot, int threads, int64_t pieces, const Work& work);
  static int64_t take(Slot& slot, int worker);
  static bool help(Slot& slot, int worker);
  static void wait_for_pieces(Slot& slot);
  void wait_for_work(uint32_t seen);
  void serve(int worker);
  void grow(int helpers);
  void forget_helpers();

  Slot slots_[kSlots];
  std::atomic<uint32_t> news_ = 0;  ///< incremented when a slot has pieces; helpers sleep on it
  std::atomic<int> helpers_ = 0;
  std::atomic<bool> growing_ = false;
};

/// Starts a thread that runs `body`, which must not throw. Throws Error(kDevice) if the system refuses.
std::jthread start_thread(std::function<void()> body);

/// Starts `count` of them. If one cannot be started, calls `end`, after which the others must return, joins them and
/// throws.
std::vector<std::jthread> start_threads(int count, const std::function<void()>& body, const std::function<void()>& end);

}  // namespace cortado

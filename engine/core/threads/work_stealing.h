#pragma once

// Work distribution between threads that may be preempted at any time.

#include <atomic>
#include <cstdint>
#include <vector>

namespace cortado {

/// Items 0 to n - 1. Each worker first takes the items of its own equal part in order, then items from the ends of the
/// others' parts, so that no worker waits long for another. An item's result must be bitwise independent of the worker
/// that runs it.
class WorkStealingRange {
 public:
  explicit WorkStealingRange(int64_t workers) { reserve(workers); }

  int64_t workers() const { return workers_; }

  /// Sets the number of workers. Memory grows and never shrinks.
  void reserve(int64_t workers) {
    if (size_t(workers) > parts_.size()) parts_ = std::vector<Part>(size_t(workers));
    workers_ = workers;
  }

  /// Distributes `items`; call it before any worker starts.
  void deal(int64_t items) {
    for (int64_t worker = 0; worker < workers(); ++worker) {
      Part& part = parts_[size_t(worker)];
      part.begin = items * worker / workers();
      part.end = items * (worker + 1) / workers();
      part.taken.store(0, std::memory_order_relaxed);
    }
  }

  /// The next item for `worker`; -1 if all are taken.
  int64_t next(int64_t worker) {
    int64_t item = parts_[size_t(worker)].take(true);
    for (int64_t i = 1; item < 0 && i < workers(); ++i) item = parts_[size_t((worker + i) % workers())].take(false);
    return item;
  }

 private:
  struct alignas(64) Part {
    std::atomic<uint64_t> taken = 0;  ///< the number taken from the front; in the upper 32 bits, from the back
    int64_t begin = 0, end = 0;

    int64_t take(bool front) {
      uint64_t before = taken.load(std::memory_order_relaxed);
      while (int64_t(before & 0xffffffff) + int64_t(before >> 32) < end - begin)
        if (taken.compare_exchange_weak(before, before + (front ? 1 : uint64_t(1) << 32), std::memory_order_relaxed))
          return front ? begin + int64_t(before & 0xffffffff) : end - 1 - int64_t(before >> 32);
      return -1;
    }
  };

  int64_t workers_ = 0;
  std::vector<Part> parts_;
};

}  // namespace cortado

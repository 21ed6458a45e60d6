#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cortado::http {

/// Threads that do what others may not wait for: loading models, decoding images. One of them does one after the other.
class TaskThreads {
 public:
  /// `most`: tasks that may wait. Throws Error(kDevice) where the system gives no more threads.
  explicit TaskThreads(size_t most, size_t threads = 1);
  ~TaskThreads();  ///< does what waits
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;

  /// Throws RequestError(kBusy) where too many wait. The task does not throw.
  void post(std::function<void()> task);

 private:
  void work();
  void end();

  const size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool ends_ = false;
  std::vector<std::jthread> threads_;  ///< use all of the above
};

}  // namespace cortado::http

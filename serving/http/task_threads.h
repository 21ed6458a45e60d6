#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cortado::http {

/// Threads for work that must not block I/O: loading models, decoding images. With one thread, tasks run in order.
class TaskThreads {
 public:
  /// `most` is the maximum number of waiting tasks. Throws Error(kDevice) if a thread cannot be created.
  explicit TaskThreads(size_t most, size_t threads = 1);
  ~TaskThreads();  ///< runs the waiting tasks
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;

  /// Throws RequestError(kBusy) if too many tasks wait. The task must not throw.
  void post(std::function<void()> task);

 private:
  void work();
  void end();

  const size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool ends_ = false;
  std::vector<std::jthread> threads_;  ///< last: they use all of the above
};

}  // namespace cortado::http

#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace cortado::http {

/// A thread that does what others may not wait for, one after the other: loading models, decoding images.
class TaskThread {
 public:
  explicit TaskThread(size_t most);  ///< tasks that may wait
  ~TaskThread();                     ///< does what waits
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  /// Throws RequestError(kBusy) where too many wait. The task does not throw.
  void post(std::function<void()> task);

 private:
  void work();

  const size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace cortado::http

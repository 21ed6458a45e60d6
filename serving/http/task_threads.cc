#include "http/task_threads.h"

#include "core/process/signal_waiter.h"
#include "core/threads/thread_pool.h"
#include "http/request_error.h"

namespace cortado::http {

TaskThreads::TaskThreads(size_t most, size_t threads) : most_(most) {
  const SignalsBlocked blocked;
  threads_ = start_threads(
      int(threads), [this] { work(); }, [this] { end(); });
}

TaskThreads::~TaskThreads() { end(); }

void TaskThreads::end() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
}

void TaskThreads::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (tasks_.size() >= most_) throw RequestError(Refusal::kBusy, "too many requests are waiting; try again later");
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void TaskThreads::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    {
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
    lock.lock();
  }
}

}  // namespace cortado::http

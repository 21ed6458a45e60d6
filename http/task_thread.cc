#include "http/task_thread.h"

#include "core/signals_blocked.h"
#include "http/request_error.h"

namespace cortado::http {

TaskThread::TaskThread(size_t most) : most_(most) {
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { work(); });
}

TaskThread::~TaskThread() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void TaskThread::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (tasks_.size() >= most_) throw RequestError(Refusal::kBusy, "too many wait for this already; try again later");
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void TaskThread::work() {
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

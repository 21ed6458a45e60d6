#include "server/batching/batcher.h"

#include <algorithm>

#include "core/process/signal_waiter.h"
#include "core/threads/thread_pool.h"
#include "server/batching/batch.h"

namespace cortado::server {

Batcher::Batcher(std::function<Arrays(const Arrays&)> predict, BatchingOptions options, BatchWatcher* watcher)
    : predict_(std::move(predict)), options_(options), watcher_(watcher) {
  const SignalsBlocked blocked;
  threads_ = start_threads(
      options_.contexts, [this] { work(); }, [this] { close(); });
}

Batcher::~Batcher() { close(); }

bool Batcher::submit(RequestPtr request) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    if (queue_.size() >= options_.max_queued) {
      const RequestError busy(Refusal::kBusy, std::to_string(queue_.size()) + " requests are waiting; try again later");
      if (watcher_) watcher_->on_outcome(*request, {busy, {}});
      throw busy;
    }
    queued_rows_ += request->rows;
    queue_.push_back(std::move(request));
    peak_ = std::max(peak_, queue_.size() + running_);
  }
  changed_.notify_one();
  return true;
}

void Batcher::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  for (std::jthread& thread : threads_)
    if (thread.joinable()) thread.join();
}

Batcher::Arrival::Arrival(Batcher& batcher) : batcher_(batcher) {
  const std::lock_guard lock(batcher_.mutex_);
  ++batcher_.arriving_;
}

Batcher::Arrival::~Arrival() {
  {
    const std::lock_guard lock(batcher_.mutex_);
    --batcher_.arriving_;
  }
  batcher_.changed_.notify_one();
}

size_t Batcher::queued() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

bool Batcher::is_full() const { return queued_rows_ >= join_rows(); }

void Batcher::work() {
  Arrays arrays;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
    if (queue_.empty()) return;
    if (options_.joins) wait_for_company(lock);
    std::vector<RequestPtr> refused;
    const std::vector<RequestPtr> batch = take(refused);
    running_ += batch.size();
    peak_ = queue_.size() + running_;
    lock.unlock();
    for (const RequestPtr& request : refused)
      finish(request, {request->is_abandoned()
                           ? RequestError(Refusal::kCancelled, "the client disconnected")
                           : RequestError(Refusal::kLate, "the deadline passed before the request was computed"),
                       {.queue = Clock::now() - request->arrived}});
    if (!batch.empty()) compute(batch, arrays);
    lock.lock();
  }
}

/// When this returns, another thread may have taken all requests.
void Batcher::wait_for_company(std::unique_lock<std::mutex>& lock) {
  const size_t expected = peak_;
  const auto is_enough = [&] {
    return closed_ || queue_.empty() || is_full() || (arriving_ == 0 && queue_.size() + running_ >= expected);
  };
  if (!is_enough()) changed_.wait_until(lock, queue_.front()->arrived + options_.max_delay, is_enough);
}

/// Takes the oldest requests that fit into one batch. Abandoned and late ones go to `refused`.
std::vector<RequestPtr> Batcher::take(std::vector<RequestPtr>& refused) {
  std::vector<RequestPtr> batch;
  int64_t rows = 0;
  const Clock::time_point now = Clock::now();
  while (!queue_.empty()) {
    RequestPtr& next = queue_.front();
    const bool is_dead = next->is_abandoned() || next->deadline <= now;
    if (!is_dead && !batch.empty() && (!options_.joins || rows + next->rows > join_rows())) break;
    if (!is_dead) rows += next->rows;
    queued_rows_ -= next->rows;
    (is_dead ? refused : batch).push_back(std::move(next));
    queue_.pop_front();
  }
  return batch;
}

/// If a batch fails, each of its requests is computed alone.
void Batcher::compute(const std::vector<RequestPtr>& batch, Arrays& arrays) {
  const Clock::time_point started = Clock::now();
  int64_t rows = 0;
  for (const RequestPtr& request : batch) rows += request->rows;
  try {
    const int64_t padded = options_.joins ? padded_rows(rows, options_.max_rows) : rows;
    const bool is_alone = batch.size() == 1 && padded == rows;
    if (!is_alone) gather(batch, padded, arrays);
    const Clock::time_point gathered = Clock::now();
    const Arrays outputs = predict_(is_alone ? batch[0]->inputs : arrays);
    const Clock::time_point computed = Clock::now();
    answer(batch, outputs, {.gather = gathered - started, .compute = computed - gathered}, started);
  } catch (...) {
    const RequestError error = current_request_error();
    if (batch.size() == 1) {
      leave(1);
      return finish(batch[0], {error, {.queue = started - batch[0]->arrived}});
    }
    for (const RequestPtr& request : batch) compute({request}, arrays);
  }
}

void Batcher::answer(const std::vector<RequestPtr>& batch, const Arrays& outputs, Times times,
                     Clock::time_point started) {
  BatchReport report{.requests = batch.size(), .times = times};
  const Clock::time_point computed = Clock::now();
  std::vector<Arrays> parts;
  for (const RequestPtr& request : batch) {
    parts.push_back(scatter(outputs, *request, report.rows, !options_.joins));
    report.rows += request->rows;
    report.times.queue += started - request->arrived;
  }
  report.times.scatter = Clock::now() - computed;
  if (watcher_) watcher_->on_batch(report);
  times.scatter = report.times.scatter;
  leave(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    times.queue = started - batch[i]->arrived;
    finish(batch[i], {std::move(parts[i]), times});
  }
}

/// Called before the answers are sent, so that a client's next request does not count in addition to its last.
void Batcher::leave(size_t requests) {
  const std::lock_guard lock(mutex_);
  running_ -= requests;
}

void Batcher::finish(const RequestPtr& request, Outcome outcome) {
  if (watcher_) watcher_->on_outcome(*request, outcome);
  request->done(std::move(outcome));
  request->done = nullptr;  // it may own the client's connection
}

}  // namespace cortado::server

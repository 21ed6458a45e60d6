#pragma once

// Joins requests to batches. A request runs at once if a context is idle and no other request is near. A batch waits at
// most max_delay from the arrival of its oldest request, and only in two cases. Either the body of another request is
// being received, or there are fewer requests than were in flight before, whose clients are likely to send the next
// one.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "server/batching/request.h"

namespace cortado::server {

struct BatchingOptions {
  int64_t max_rows = 1;   ///< of a batch
  int64_t join_rows = 0;  ///< limit of a joined batch; a single request may have more; 0: max_rows
  bool joins = false;     ///< whether rows of several requests may be computed together, with zero padding
  std::chrono::microseconds max_delay{2000};
  size_t max_queued = 256;
  int contexts = 1;  ///< batches computed concurrently
};

/// Statistics of a finished batch.
struct BatchReport {
  int64_t rows = 0;  ///< without padding
  size_t requests = 0;
  Times times;
};

/// An observer for metrics. Several threads call it concurrently.
class BatchWatcher {
 public:
  virtual ~BatchWatcher() = default;
  virtual void on_batch(const BatchReport& report) = 0;
  virtual void on_outcome(const Request& request, const Outcome& outcome) = 0;
};

class Batcher {
 public:
  /// Up to `contexts` threads call `predict` concurrently; it throws like Predictor::predict(). `watcher` may be null.
  /// Throws Error(kDevice) if a thread cannot be created.
  Batcher(std::function<Arrays(const Arrays&)> predict, BatchingOptions options, BatchWatcher* watcher = nullptr);
  ~Batcher();  ///< calls close()
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  /// Queues the request; false after close(). Throws RequestError(kBusy) if max_queued requests wait.
  bool submit(RequestPtr request);

  /// Refuses new requests, and returns when all queued ones are answered. Must not be called from `done`.
  void close();

  /// Exists while the body of a request for this batcher is received.
  class Arrival {
   public:
    explicit Arrival(Batcher& batcher);
    ~Arrival();
    Arrival(const Arrival&) = delete;
    Arrival& operator=(const Arrival&) = delete;

   private:
    Batcher& batcher_;
  };

  size_t queued() const;

 private:
  void work();
  void wait_for_company(std::unique_lock<std::mutex>& lock);
  std::vector<RequestPtr> take(std::vector<RequestPtr>& refused);
  void compute(const std::vector<RequestPtr>& batch, Arrays& arrays);
  void answer(const std::vector<RequestPtr>& batch, const Arrays& outputs, Times times, Clock::time_point started);
  void leave(size_t requests);
  void finish(const RequestPtr& request, Outcome outcome);
  int64_t join_rows() const { return options_.join_rows > 0 ? options_.join_rows : options_.max_rows; }
  bool is_full() const;

  const std::function<Arrays(const Arrays&)> predict_;
  const BatchingOptions options_;
  BatchWatcher* const watcher_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<RequestPtr> queue_;
  int64_t queued_rows_ = 0;
  size_t running_ = 0;  ///< requests that are computed now
  size_t peak_ = 0;     ///< maximum of queued and computed requests since the last batch was taken
  int arriving_ = 0;
  bool closed_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace cortado::server

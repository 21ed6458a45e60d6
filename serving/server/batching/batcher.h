#pragma once

// Joins requests to batches. A request runs at once where a context is idle and nobody else is about: a batch waits,
// at most max_delay behind its oldest request, only while bytes of another request are coming in, or while fewer
// requests are there than were under way together before it, whose clients are likely to ask again.

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
  int64_t join_rows = 0;  ///< that requests are joined to: a request alone may have more; 0: max_rows
  bool joins = false;     ///< whether rows of several requests may be computed together, and zeros added to them
  std::chrono::microseconds max_delay{2000};
  size_t max_queued = 256;
  int contexts = 1;  ///< batches computed at a time
};

/// What a batch took, told after it.
struct BatchReport {
  int64_t rows = 0;  ///< without padding
  size_t requests = 0;
  Times times;
};

/// Who counts. Called by several threads at once.
class BatchWatcher {
 public:
  virtual ~BatchWatcher() = default;
  virtual void on_batch(const BatchReport& report) = 0;
  virtual void on_outcome(const Request& request, const Outcome& outcome) = 0;
};

class Batcher {
 public:
  /// `predict` is called by up to `contexts` threads at once; it throws as Predictor::predict() does. `watcher` may be
  /// null. Throws Error(kDevice) where the system gives no more threads.
  Batcher(std::function<Arrays(const Arrays&)> predict, BatchingOptions options, BatchWatcher* watcher = nullptr);
  ~Batcher();  ///< as close()
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  /// Queues the request; false once it is closed. Throws RequestError(kBusy) where max_queued wait.
  bool submit(RequestPtr request);

  /// Takes no more, computes what is queued, and returns when all was told. Not to be called by `done`.
  void close();

  /// While one lives, a request for this batcher is being read.
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
  void tell(const RequestPtr& request, Outcome outcome);
  int64_t join_rows() const { return options_.join_rows > 0 ? options_.join_rows : options_.max_rows; }
  bool is_full() const;

  const std::function<Arrays(const Arrays&)> predict_;
  const BatchingOptions options_;
  BatchWatcher* const watcher_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<RequestPtr> queue_;
  int64_t queued_rows_ = 0;
  size_t running_ = 0;  ///< requests being computed
  size_t peak_ = 0;     ///< the most that were queued or computed since a batch was last taken
  int arriving_ = 0;
  bool closed_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace cortado::server

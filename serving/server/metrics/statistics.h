#pragma once

// The counts and times of one model for the protocol's statistics; also updates the Prometheus metrics.

#include <cstdint>
#include <map>
#include <mutex>

#include "server/batching/batcher.h"
#include "server/metrics/metrics.h"

namespace cortado::server {

/// A count, and the total time in nanoseconds.
struct Duration {
  uint64_t count = 0, ns = 0;

  void add(Clock::duration time);
};

struct BatchCounts {
  Duration input, infer, output;
};

struct ModelCounts {
  uint64_t last_inference = 0;                ///< milliseconds since 1970; 0: none
  uint64_t inferences = 0;                    ///< rows computed
  uint64_t executions = 0;                    ///< batches computed
  Duration success, fail, queue;              ///< of requests
  BatchCounts compute;                        ///< of requests
  std::map<int64_t, BatchCounts> batch_rows;  ///< of batches, by their rows
};

class Statistics : public BatchWatcher {
 public:
  explicit Statistics(ModelMetrics metrics) : metrics_(metrics) {}

  void on_batch(const BatchReport& report) override;
  void on_outcome(const Request& request, const Outcome& outcome) override;
  ModelCounts counts() const;

 private:
  ModelMetrics metrics_;
  mutable std::mutex mutex_;
  ModelCounts counts_;
};

}  // namespace cortado::server

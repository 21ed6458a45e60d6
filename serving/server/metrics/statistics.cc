#include "server/metrics/statistics.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>

namespace cortado::server {

namespace {

double seconds_of(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

prometheus::Counter& counter_of(const ModelMetrics& metrics, Refusal why) {
  switch (why) {
    case Refusal::kCancelled:
      return *metrics.abandoned;
    case Refusal::kInternal:
      return *metrics.failed;
    default:
      return *metrics.refused;
  }
}

}  // namespace

void Duration::add(Clock::duration time) {
  ++count;
  ns += uint64_t(std::chrono::nanoseconds(time).count());
}

void Statistics::on_batch(const BatchReport& report) {
  metrics_.batch_rows->Observe(double(report.rows));
  metrics_.compute_seconds->Observe(seconds_of(report.times.compute));
  const std::lock_guard lock(mutex_);
  counts_.inferences += uint64_t(report.rows);
  ++counts_.executions;
  BatchCounts& batch = counts_.batch_rows[report.rows];
  batch.input.add(report.times.gather);
  batch.infer.add(report.times.compute);
  batch.output.add(report.times.scatter);
}

void Statistics::on_outcome(const Request& request, const Outcome& outcome) {
  const Clock::duration took = Clock::now() - request.arrived;
  if (const auto* error = std::get_if<RequestError>(&outcome.result)) {
    counter_of(metrics_, error->why()).Increment();
    const std::lock_guard lock(mutex_);
    return counts_.fail.add(took);
  }
  metrics_.answered->Increment();
  metrics_.queue_seconds->Observe(seconds_of(outcome.times.queue));
  metrics_.request_seconds->Observe(seconds_of(took));
  const std::lock_guard lock(mutex_);
  using namespace std::chrono;
  counts_.last_inference = uint64_t(duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count());
  counts_.success.add(took);
  counts_.queue.add(outcome.times.queue);
  counts_.compute.input.add(outcome.times.gather);
  counts_.compute.infer.add(outcome.times.compute);
  counts_.compute.output.add(outcome.times.scatter);
}

ModelCounts Statistics::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace cortado::server

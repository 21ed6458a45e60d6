#pragma once

// Metrics in Prometheus's text format.

#include <memory>
#include <string>

namespace prometheus {
class Registry;
class Gauge;
class Counter;
class Histogram;
}  // namespace prometheus

namespace cortado::server {

/// The metrics of all versions of one model. Thread-safe.
struct ModelMetrics {
  prometheus::Counter *answered, *refused, *failed, *abandoned;
  prometheus::Histogram *batch_rows, *queue_seconds, *compute_seconds, *request_seconds;
  prometheus::Gauge* queued;
};

class Metrics {
 public:
  Metrics();
  ~Metrics();

  ModelMetrics of_model(const std::string& model);  ///< returns the same metrics for the same name
  void set_connections(size_t count);               ///< open HTTP connections
  void set_queued(const std::string& model, size_t requests);
  std::string text() const;

 private:
  std::shared_ptr<prometheus::Registry> registry_;
  prometheus::Gauge* connections_;
};

}  // namespace cortado::server

#include "server/metrics/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace cortado::server {

namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;

/// From 0.1 milliseconds to 13 seconds, doubling.
Buckets seconds() {
  Buckets bounds;
  for (double bound = 1e-4; bound < 20; bound *= 2) bounds.push_back(bound);
  return bounds;
}

Buckets rows() { return {1, 2, 4, 8, 16, 32, 64, 128}; }

prometheus::Counter& requests(prometheus::Registry& registry, const std::string& model, const char* outcome) {
  return prometheus::BuildCounter()
      .Name("cortado_requests_total")
      .Help("Inference requests by outcome.")
      .Register(registry)
      .Add({{"model", model}, {"outcome", outcome}});
}

prometheus::Histogram& histogram(prometheus::Registry& registry, const char* name, const char* help,
                                 const std::string& model, const Buckets& buckets) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({{"model", model}}, buckets);
}

}  // namespace

Metrics::Metrics()
    : registry_(std::make_shared<prometheus::Registry>()),
      connections_(&prometheus::BuildGauge()
                        .Name("cortado_http_connections")
                        .Help("Open HTTP connections.")
                        .Register(*registry_)
                        .Add({})) {}

Metrics::~Metrics() = default;

ModelMetrics Metrics::of_model(const std::string& model) {
  prometheus::Registry& all = *registry_;
  return {
      .answered = &requests(all, model, "answered"),
      .refused = &requests(all, model, "refused"),
      .failed = &requests(all, model, "failed"),
      .abandoned = &requests(all, model, "abandoned"),
      .batch_rows = &histogram(all, "cortado_batch_rows", "Rows per batch.", model, rows()),
      .queue_seconds =
          &histogram(all, "cortado_queue_seconds", "Seconds from a request's arrival to its batch.", model, seconds()),
      .compute_seconds = &histogram(all, "cortado_compute_seconds", "Seconds of computing a batch.", model, seconds()),
      .request_seconds = &histogram(all, "cortado_request_seconds", "Seconds from a request's arrival to its answer.",
                                    model, seconds()),
      .queued = &prometheus::BuildGauge()
                     .Name("cortado_queued_requests")
                     .Help("Queued requests.")
                     .Register(all)
                     .Add({{"model", model}})};
}

void Metrics::set_connections(size_t count) { connections_->Set(double(count)); }

void Metrics::set_queued(const std::string& model, size_t requests) { of_model(model).queued->Set(double(requests)); }

std::string Metrics::text() const { return prometheus::TextSerializer().Serialize(registry_->Collect()); }

}  // namespace cortado::server

#pragma once

// Reading what a MetricsWriter wrote.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cortado::runs {

/// One line; what an event does not have is 0, or empty.
struct MetricRow {
  double time = 0;  ///< seconds since 1970
  std::string event;
  int64_t iter = 0, max_iter = 0;
  double loss = 0, rate = 0, images_per_second = 0, data_wait = 0, resident_bytes = 0;
  int net = 0;
  std::vector<std::pair<std::string, double>> outputs;
  struct Best {
    std::string name;
    double value;
    int64_t iter;
  };
  std::vector<Best> best;
  std::string text;    ///< of warn, nan and error; the path of snapshot and resume
  bool early = false;  ///< of stop: early_stop's
};

/// The rows of a file in their order, without lines that are torn or no JSON; none where there is no file. What a run
/// did past the point that it later resumed from was done again: those rows are left out.
std::vector<MetricRow> read_metrics(const std::string& path);
/// The same of a text.
std::vector<MetricRow> metrics_in(std::string_view text);

}  // namespace cortado::runs

#pragma once

// Reads the files of MetricsWriter.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "solvers/observer.h"

namespace cortado::runs {

/// One line. Values that the event does not have are 0 or empty.
struct MetricRow {
  double time = 0;  ///< seconds since 1970
  std::string event;
  int64_t iter = 0, max_iter = 0;
  double loss = 0, rate = 0, images_per_second = 0, data_wait = 0, resident_bytes = 0;
  int net = 0;
  std::vector<std::pair<std::string, double>> outputs;
  std::vector<TestScore> scores;  ///< of run_start; empty in files of older programs
  std::string text;               ///< of warn, nan and error; the path of snapshot and resume
  bool early = false;             ///< of stop: by early_stop
};

/// The rows of a file in order, without lines that are incomplete or not JSON. No rows if the file does not exist. Rows
/// after the point from which the run later resumed are left out, because the run repeated them.
std::vector<MetricRow> read_metrics(const std::string& path);
/// Parses the text of such a file.
std::vector<MetricRow> metrics_in(std::string_view text);

}  // namespace cortado::runs

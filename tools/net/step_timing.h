#pragma once

// The times of a net's steps. Each iteration is timed as a whole and then step by step, so that the totals do not
// contain timer calls.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "net/net.h"
#include "tools/net/roofline.h"

namespace cortado::tools {

/// Milliseconds of repeated runs.
class Samples {
 public:
  void add(double ms) { ms_.push_back(ms); }
  bool empty() const { return ms_.empty(); }
  double total() const {
    double sum = 0;
    for (const double ms : ms_) sum += ms;
    return sum;
  }
  double mean() const { return ms_.empty() ? 0 : total() / double(ms_.size()); }
  double quantile(double share) const {
    if (ms_.empty()) return 0;
    std::vector<double> sorted = ms_;
    std::sort(sorted.begin(), sorted.end());
    return sorted[std::min(sorted.size() - 1, size_t(share * double(sorted.size())))];
  }
  nlohmann::ordered_json json() const {
    return {{"mean_ms", mean()}, {"median_ms", quantile(0.5)}, {"p90_ms", quantile(0.9)}, {"p99_ms", quantile(0.99)}};
  }

 private:
  std::vector<double> ms_;
};

/// All runs of a layer's step in one direction.
struct StepTiming {
  Samples samples;
  Work work;
  uint64_t joins = 0;  ///< of its last run (Context::joins)
};

struct Timing {
  std::vector<StepTiming> forward_steps, backward_steps, recompute_steps;  ///< per node
  Samples forward, backward, both;
  Work work;  ///< the sum of all steps
};

/// Times `iterations` after `warm_up` others, with backward if the plan has any. Increments context.pass.
Timing time_net(Net& net, int64_t iterations, int64_t warm_up = 3);

/// The minimum time of all steps, one after another, at the roofline.
double least_ms(const Timing& timing, const Roofline& roof);
/// The step's share of the roofline; 0 if it was not run.
double share_of_roof(const StepTiming& step, const Roofline& roof);
double per_second(double amount, double ms);

/// The joins of all steps in an iteration, forward and backward.
uint64_t joins_of(const Timing& timing);

/// All results, layer by layer (docs/command-line.md).
nlohmann::ordered_json json_of(const Net& net, const Timing& timing, const Roofline& roof);

}  // namespace cortado::tools

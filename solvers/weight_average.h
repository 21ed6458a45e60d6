#pragma once

// A moving average of the weights (ema_decay), in the memory of the net's device: after each update
//   a = d a + (1 - d) w,  d = ema_decay, with ema_warmup at most (1 + n) / (10 + n), n the updates averaged so far.
// Only weights that learn are averaged. Others, such as BatchNorm's statistics, are averages already and are used as
// they are.

#include <vector>

#include "core/device/device_memory.h"
#include "net/net.h"
#include "solvers/weight_list.h"

namespace cortado {

/// A weight and its average.
struct AveragedWeight {
  float *w, *average;
};

class WeightAverage {
 public:
  /// Starts with the current weights. `net` must outlive this object.
  WeightAverage(double decay, bool warms_up, Net& net);

  /// Sets the average to the current weights.
  void reset();
  /// Adds the weights after an update. Allocates nothing.
  void add();

  /// Whether the average is in the net's memory and the weights are stored here. Only forward passes are allowed then.
  bool shown() const { return shown_; }
  void show(bool average);

  int64_t bytes() const { return int64_t(arena_.bytes()); }
  void save(caffe::TrainingState& training) const;
  /// Throws Error(kSnapshot) with `path` if the number or the sizes do not match.
  void load(const caffe::TrainingState& training, const std::string& path);

 private:
  const double decay_;
  const bool warms_up_;
  Net& net_;
  WeightList list_;
  std::vector<AveragedWeight> weights_;  ///< per param
  DeviceMemory arena_, table_, pieces_;
  int64_t piece_count_ = 0, updates_ = 0;
  bool shown_ = false;
};

/// During its lifetime the nets that share the weights use the average. `average` may be null.
class ShownAverage {
 public:
  ShownAverage(WeightAverage* average, bool shown) : average_(average), before_(average && average->shown()) {
    if (average_) average_->show(shown);
  }
  ~ShownAverage() {
    if (average_) average_->show(before_);
  }
  ShownAverage(const ShownAverage&) = delete;
  ShownAverage& operator=(const ShownAverage&) = delete;

 private:
  WeightAverage* average_;
  bool before_;
};

}  // namespace cortado

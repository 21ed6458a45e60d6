#pragma once

// A moving average of the weights (ema_decay), in the memory of the net's device: after each update
//   a = d a + (1 - d) w,  d = ema_decay, with ema_warmup at most (1 + n) / (10 + n), n the updates averaged so far.
// It is of the weights that learn. Others, such as BatchNorm's statistics, are used as they are: they are averages
// already.

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
  /// Begins with the weights as they are. `net` outlives this.
  WeightAverage(double decay, bool warms_up, Net& net);

  /// The average becomes the weights as they are.
  void reset();
  /// Takes in the weights after an update. Allocates nothing.
  void add();

  /// Whether the net's memory holds the average, and this the weights; nothing but forward passes may happen then.
  bool shown() const { return shown_; }
  void show(bool average);

  int64_t bytes() const { return int64_t(arena_.bytes()); }
  void save(caffe::TrainingState& training) const;
  /// Throws Error(kSnapshot) naming `path` where number or sizes do not fit.
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

/// While this lives the nets that share the weights see the average. `average` may be null.
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

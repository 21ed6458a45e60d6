#pragma once

// lr_policy plateau: the rate drops by gamma when a value has not got less for plateau_winsize[k] iterations, k the
// drops so far; after the last of them it stays. As in Intel's program the value is the smoothed training loss
// (average_loss), and a drop counts as an event like a gain: the next window starts there. With plateau_metric it is a
// test score.

#include <cstdint>
#include <limits>

#include "proto/cortado.pb.h"

namespace cortado {

class Plateau {
 public:
  /// `config` outlives this.
  explicit Plateau(const caffe::SolverParameter& config) : config_(config) {}

  /// A value at iteration `iter`, where less is better.
  void see(double value, int64_t iter) {
    if (!(float(value) < least_ - config_.plateau_min_delta())) return;
    least_ = float(value);
    last_event_ = iter;
  }

  /// Whether the rate drops at `iter`, having dropped `drops` times; to be asked once for each iteration, in order.
  bool drops_at(int64_t iter, int drops) {
    if (drops >= config_.plateau_winsize_size() || iter < last_event_ + config_.plateau_winsize(drops)) return false;
    last_event_ = iter;
    return true;
  }

  float least() const { return least_; }
  int64_t last_event() const { return last_event_; }
  void restore(float least, int64_t last_event) {
    least_ = least;
    last_event_ = last_event;
  }

 private:
  const caffe::SolverParameter& config_;
  float least_ = std::numeric_limits<float>::max();
  int64_t last_event_ = 0;
};

}  // namespace cortado

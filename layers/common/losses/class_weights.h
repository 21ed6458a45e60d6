#pragma once

// Class weights of losses: loss_param.class_weight. The forks of SegNet and ENet call them class_weighting and enable
// them by weight_by_label_freqs; there losses are divided by the number of samples, not by the sum of their weights.
// WeightedSoftmaxWithLoss weights one class, pos_cid of softmax_param, by pos_mult.

#include <string>
#include <vector>

#include "core/device/device_memory.h"
#include "proto/cortado.pb.h"

namespace cortado {

class ClassWeights {
 public:
  /// Throws FieldError if the two forms contradict each other.
  explicit ClassWeights(const caffe::LossParameter& options);
  /// Weight pos_mult for the class pos_cid, 1 for the others; the divisor ignores weights. Throws FieldError without
  /// pos_cid.
  explicit ClassWeights(const caffe::SoftmaxParameter& options);

  bool given() const { return !values_.empty() || single_ >= 0; }
  bool count_as_one() const { return count_as_one_; }  ///< the divisor counts samples, ignoring weights

  /// Throws FieldError unless there are either no weights, or one for each class, at least 0.
  void check(int64_t classes);

  /// Copies them to the context's memory. Allocates.
  void place(Context& context);

  /// The copy that place() made; null: no weights.
  const float* data() const { return given() ? reinterpret_cast<const float*>(placed_.data()) : nullptr; }

 private:
  std::string field_;  ///< that has the weights
  bool count_as_one_ = false;
  int64_t single_ = -1;  ///< the only class with a weight, pos_mult_
  float pos_mult_ = 1;
  std::vector<float> values_;
  DeviceMemory placed_;
};

}  // namespace cortado

#pragma once

// loss_param.class_weight: how much the samples of each class count. SegNet's fork, which ENet has, names them
// class_weighting, which hold where weight_by_label_freqs is true; there losses are divided by the number of samples,
// not by the sum of their weights. WeightedSoftmaxWithLoss gives one class a weight, softmax_param's pos_mult of
// pos_cid.

#include <string>
#include <vector>

#include "core/device/device_memory.h"
#include "proto/cortado.pb.h"

namespace cortado {

class ClassWeights {
 public:
  /// Throws FieldError where the two forms contradict each other.
  explicit ClassWeights(const caffe::LossParameter& options);
  /// pos_mult for the class pos_cid, 1 for the others, which count as one each. Throws FieldError without pos_cid.
  explicit ClassWeights(const caffe::SoftmaxParameter& options);

  bool given() const { return !values_.empty() || single_ >= 0; }
  bool count_as_one() const { return count_as_one_; }  ///< what is divided by counts samples whatever they weigh

  /// Throws FieldError unless there are none, or one for each class, none below 0.
  void check(int64_t classes);

  /// Puts them where the context computes. Allocates.
  void place(Context& context);

  /// Where place() put them; null: none are given.
  const float* data() const { return given() ? reinterpret_cast<const float*>(placed_.data()) : nullptr; }

 private:
  std::string field_;  ///< that gives them
  bool count_as_one_ = false;
  int64_t single_ = -1;  ///< the class that alone has a weight, pos_mult_
  float pos_mult_ = 1;
  std::vector<float> values_;
  DeviceMemory placed_;
};

}  // namespace cortado

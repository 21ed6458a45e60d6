#pragma once

// loss_param.class_weight: how much the samples of each class count.

#include <vector>

#include "core/device_memory.h"
#include "proto/cortado.pb.h"

namespace cortado {

class ClassWeights {
 public:
  explicit ClassWeights(const caffe::LossParameter& options)
      : values_(options.class_weight().begin(), options.class_weight().end()) {}

  bool given() const { return !values_.empty(); }

  /// Throws FieldError unless there are none, or one for each class, none below 0.
  void check(int64_t classes) const;

  /// Puts them where the context computes. Allocates.
  void place(Context& context);

  /// Where place() put them; null: none are given.
  const float* data() const { return given() ? reinterpret_cast<const float*>(placed_.data()) : nullptr; }

 private:
  std::vector<float> values_;
  DeviceMemory placed_;
};

}  // namespace cortado

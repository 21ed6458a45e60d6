#pragma once

#include <string>

#include "core/shape.h"
#include "proto/cortado.pb.h"

namespace cortado::tools {

/// A sample of a net's data as people see it: what transform_param did to its values is undone (value / scale + mean).
class SampleImages {
 public:
  /// `layer`: the net's data layer; `batch`: the shape that it makes. Throws what reading a mean file throws.
  SampleImages(const caffe::LayerParameter& layer, const Shape& batch);

  bool can_show() const;  ///< one channel or three
  /// A data URI of at most 96 x 96 pixels; `values` are those of one sample.
  std::string show(const float* values) const;

 private:
  Shape batch_;
  float scale_ = 1;
  std::vector<float> means_;  ///< per channel
};

}  // namespace cortado::tools

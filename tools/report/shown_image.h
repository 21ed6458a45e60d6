#pragma once

#include <string>

#include "core/shape.h"
#include "proto/cortado.pb.h"

namespace cortado::tools {

/// A sample of a net's data as people see it: what transform_param did to its values is undone (value / scale + mean).
class SampleImages {
 public:
  /// `layer`: the net's data layer; `batch`: the shape that it makes. Throws what reading a mean file throws.
  SampleImages(const caffe::LayerParameter& layer, const Shape& batch, int most_side = 96);

  bool can_show() const;  ///< one channel or three
  /// A data URI of an image whose longer side has at most `most_side` pixels; `values` are those of one sample.
  std::string show(const float* values) const;

 private:
  Shape batch_;
  int most_side_;
  float scale_ = 1;
  std::vector<float> means_;  ///< per channel
};

}  // namespace cortado::tools

#pragma once

#include <string>

#include "core/shape.h"
#include "proto/cortado.pb.h"

namespace cortado::tools {

/// Samples of a net's data as images, by undoing transform_param: value / scale + mean.
class SampleImages {
 public:
  /// `layer`: the net's data layer; `batch`: the shape of its top. Throws as reading a mean file does.
  SampleImages(const caffe::LayerParameter& layer, const Shape& batch, int most_side = 96);

  bool can_show() const;  ///< for one or three channels
  /// A data URI of the image of one sample's `values`, with at most `most_side` pixels on the longer side.
  std::string show(const float* values) const;

 private:
  Shape batch_;
  int most_side_;
  float scale_ = 1;
  std::vector<float> means_;  ///< per channel
};

}  // namespace cortado::tools

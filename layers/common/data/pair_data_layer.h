#pragma once

// What DenseImageData, ImageSegData and ImageLabelmapData share: images as the first top, N x C x H x W, and images of
// labels as the second, N x 1 x H x W. Both are read as one image (data/pipeline/pair_options.cc) and parted here. A
// third top is the height and width of each image, N x 1 x 1 x 2, where the type has one.
//
// Labels are whole numbers from 0 to 255: what a grey picture has as its pixels. They are never interpolated. Crops and
// flips are drawn as those of other data layers, functions of (seed, epoch, record), and are the same for both.

#include "layers/common/data/data_layer.h"

namespace cortado {

class PairDataLayer : public PipelineLayer {
 public:
  /// Of labels there are so many times fewer rows and columns. `height` and `width`: what images are brought to, or 0.
  PairDataLayer(const LayerOptions& options, int height, int width, float label_divisor = 1);

  LayerShapes infer(const std::vector<Shape>& x) override;
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;

 private:
  Shape shape_without_data() const override;

  int tops_, height_, width_;
  float label_divisor_;
  Shape whole_;  ///< of both as one
};

}  // namespace cortado

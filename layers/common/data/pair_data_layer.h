#pragma once

// The base of DenseImageData, ImageSegData and ImageLabelmapData: images as the first top, N x C x H x W, and label
// images as the second, N x 1 x H x W. Both are read as one image (data/pipeline/pair_options.cc) and split here. If
// the type has a third top, it is the height and width of each image, N x 1 x 1 x 2.
//
// Labels are integers from 0 to 255: the pixel values of a grey image. They are never interpolated. Crops and flips are
// functions of (seed, epoch, record), as in other data layers, and the same for both images.

#include "layers/common/data/data_layer.h"

namespace cortado {

class PairDataLayer : public PipelineLayer {
 public:
  /// The labels have `label_divisor` times fewer rows and columns than the images. `height` and `width`: the size to
  /// which images are resized, or 0.
  PairDataLayer(const LayerOptions& options, int height, int width, float label_divisor = 1);

  LayerShapes infer(const std::vector<Shape>& x) override;
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;

 private:
  Shape shape_without_data() const override;

  int tops_, height_, width_;
  float label_divisor_;
  Shape whole_;  ///< of image and labels together
};

}  // namespace cortado

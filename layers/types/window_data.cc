// WindowData: random windows of images, warped to crop_size, for training R-CNN. The last fg_fraction of a batch shows
// objects, the samples before it background (label 0). The choice of a window is a function of (seed, position); in
// Caffe it depends on earlier draws.

#include "data/pipeline/pipeline_options.h"
#include "layers/common/data/data_layer.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class WindowDataLayer : public PipelineLayer {
 public:
  explicit WindowDataLayer(const LayerOptions& options)
      : PipelineLayer(options), crop_(int(options.config.transform_param().crop_size())) {}

 private:
  Shape shape_without_data() const override { return Shape{options().batch_size, 3, crop_, crop_}; }

  int crop_;
};

const RegisterLayer register_window_data({
    .name = "WindowData",
    .help = "windows of images, warped to one size, and the class of the object in each",
    .options = "window_data_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_layer<WindowDataLayer>,
    .kind = LayerKind::kData,
    .pipeline = data::make_window_options,
});

}  // namespace

}  // namespace cortado

// ImageData: image files that a list names, with their labels. The list's order, or with `shuffle` a new one each
// epoch, is a function of the seed, where Caffe's depends on what was drawn before. Images are brought to new_height x
// new_width before transform_param applies to them, so a mean image has that size.

#include "layers/common/data_layer.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class ImageDataLayer : public PipelineLayer {
 public:
  explicit ImageDataLayer(const LayerOptions& options)
      : PipelineLayer(options), param_(options.config.image_data_param()) {}

 private:
  Shape shape_without_data() const override {
    const data::TransformPlan& plan = this->options().transform;
    const int channels = plan.color == data::ColorMode::kGray ? 1 : 3, batch = this->options().batch_size;
    if (plan.crop_h > 0) return Shape{batch, channels, plan.crop_h, plan.crop_w};
    if (param_.new_height() == 0 || plan.augment.moves) return Shape{-1};
    return Shape{batch, channels, param_.new_height(), param_.new_width()};
  }

  const caffe::ImageDataParameter& param_;
};

const RegisterLayer registered({
    .name = "ImageData",
    .help = "image files that a list names, and their labels",
    .options = "image_data_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_layer<ImageDataLayer>,
});

}  // namespace

}  // namespace cortado

// Data: batches of a dataset. Tops are images and, optionally, labels (class weights if samples are mixed). Before the
// dataset is opened the images' shape is known from crop_size, assuming three channels.

#include "data/pipeline/pipeline_options.h"
#include "layers/common/data/data_layer.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class DataLayer : public PipelineLayer {
 public:
  explicit DataLayer(const LayerOptions& options)
      : PipelineLayer(options), gray_(options.config.transform_param().force_gray()) {}

 private:
  Shape shape_without_data() const override {
    const data::TransformPlan& plan = options().transform;
    if (plan.crop_h == 0 || plan.crop_w == 0) return Shape{-1};
    return Shape{options().batch_size, gray_ ? 1 : 3, plan.crop_h, plan.crop_w};
  }

  bool gray_;
};

const RegisterLayer register_data({
    .name = "Data",
    .help = "images and labels from a dataset (LMDB)",
    .options = "data_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_layer<DataLayer>,
    .kind = LayerKind::kData,
    .pipeline = data::make_database_options,
});

}  // namespace

}  // namespace cortado

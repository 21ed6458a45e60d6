// ImageData: image files from a list, with their labels. The order is a function of the seed, with `shuffle` a new one
// each epoch; in Caffe it depends on earlier draws. Images are resized to new_height x new_width before transform_param
// applies, so a mean image has that size.
//
// With label_dim above 1 (HashNet and others) a line ends with that many numbers, and labels are batch x label_dim. The
// pipeline then returns the line's index as the label of a sample; a separate table holds the labels of all lines.

#include "core/device/device_memory.h"
#include "core/error.h"
#include "core/loops/for_each.h"
#include "data/pipeline/pipeline_options.h"
#include "data/sources/image_list.h"
#include "layers/common/data/data_layer.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct TakeRows {
  const float *rows, *numbers;
  float* labels;
  int64_t width;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t n = i / width;
    labels[i] = rows[int64_t(numbers[n]) * width + i - n * width];
  }
};

class ImageDataLayer : public PipelineLayer {
 public:
  explicit ImageDataLayer(const LayerOptions& options)
      : PipelineLayer(options),
        param_(options.config.image_data_param()),
        rows_wanted_(param_.label_dim() > 1 && options.config.top_size() > 1) {
    if (rows_wanted_ && this->options().transform.augment.mix.on())
      throw FieldError("image_data_param.label_dim", "mixed samples need one class label each",
                       "remove transform_param.augment.mix or label_dim");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    LayerShapes shapes = PipelineLayer::infer(x);
    if (!rows_wanted_) return shapes;
    shapes.y[1] = {options().batch_size, param_.label_dim()};
    if (open() && !list_) list_ = std::make_unique<data::ImageList>(param_.source(), int(param_.label_dim()));
    return shapes;
  }

  LayerNeeds prepare(const PrepareRequest&, Context& context) override {
    if (!rows_wanted_ || !list_) return {};
    const std::vector<float>& rows = list_->label_rows();
    rows_ = DeviceMemory(context, rows.size() * sizeof(float));
    copy_to_device(context, rows_.data(), rows.data(), rows_.bytes());
    numbers_ = plain_view({options().batch_size}, nullptr);
    numbers_.device = context.device;
    LayerNeeds needs;
    needs.forward_scratch = options().batch_size * int64_t(sizeof(float));
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    if (!rows_wanted_) return PipelineLayer::forward(context, io);
    numbers_.data = io.scratch;
    read(context, io.y[0], numbers_);
    for_each(context, io.y[1].count(),
             TakeRows{reinterpret_cast<const float*>(rows_.data()), numbers_.f32(), io.y[1].f32(),
                      int64_t(param_.label_dim())});
  }

 private:
  Shape shape_without_data() const override {
    const data::TransformPlan& plan = this->options().transform;
    const int channels = plan.color == data::ColorMode::kGray ? 1 : 3, batch = this->options().batch_size;
    if (plan.crop_h > 0) return Shape{batch, channels, plan.crop_h, plan.crop_w};
    if (param_.new_height() == 0 || plan.augment.moves) return Shape{-1};
    return Shape{batch, channels, param_.new_height(), param_.new_width()};
  }

  const caffe::ImageDataParameter& param_;
  bool rows_wanted_;
  std::unique_ptr<data::ImageList> list_;  ///< null unless label_dim is above 1
  DeviceMemory rows_;                      ///< labels of all lines
  Tensor numbers_;                         ///< line indices of a batch
};

const RegisterLayer register_image_data({
    .name = "ImageData",
    .help = "image files from a list, and their labels",
    .options = "image_data_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_layer<ImageDataLayer>,
    .kind = LayerKind::kData,
    .pipeline = data::make_image_options,
});

}  // namespace

}  // namespace cortado

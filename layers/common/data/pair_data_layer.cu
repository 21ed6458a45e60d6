#include <cmath>

#include "core/error.h"
#include "core/text/text.h"
#include "data/sources/pair_source.h"
#include "layers/common/data/pair_data_layer.h"
#include "layers/common/loops/typed.h"

namespace cortado {

namespace {

/// Copies all channels but the last.
template <typename T>
struct TakeImage {
  T* image;
  const float* both;
  int64_t channels, pixels;  ///< of the image
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t n = i / (channels * pixels);
    image[i] = both[i + n * pixels];
  }
};

/// Copies the last channel, with nearest-neighbour downsampling.
struct TakeLabels {
  const float* both;
  float* labels;
  int64_t channels, height, width;  ///< of the image
  int64_t rows, columns;            ///< of labels
  float divisor, scale;
  CORTADO_HD int64_t place(int64_t i, int64_t extent) const {
    const int64_t at = int64_t(floorf(float(i) * divisor));
    return at < extent ? at : extent - 1;
  }
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t n = i / (rows * columns), h = place(i / columns % rows, height), w = place(i % columns, width);
    labels[i] = roundf(both[((n * (channels + 1) + channels) * height + h) * width + w] / scale);
  }
};

struct TakeSizes {
  const float* packed;
  float* sizes;
  CORTADO_HD void operator()(int64_t i) const {
    constexpr int32_t kBase = data::packed_size(1, 0);
    const int32_t size = int32_t(packed[i / 2]);
    sizes[i] = float(i % 2 == 0 ? size / kBase : size % kBase);
  }
};

bool is_known(const Shape& shape) { return shape.axes() == 4; }

}  // namespace

PairDataLayer::PairDataLayer(const LayerOptions& options, int height, int width, float label_divisor)
    : PipelineLayer(options),
      tops_(options.config.top_size()),
      height_(height),
      width_(width),
      label_divisor_(label_divisor) {}

Shape PairDataLayer::shape_without_data() const {
  const data::TransformPlan& plan = options().transform;
  const int channels = (plan.color == data::ColorMode::kGray ? 1 : 3) + 1, batch = options().batch_size;
  if (plan.crop_h > 0) return {batch, channels, plan.crop_h, plan.crop_w};
  return height_ > 0 ? Shape{batch, channels, height_, width_} : Shape{-1};
}

LayerShapes PairDataLayer::infer(const std::vector<Shape>&) {
  const data::DataPipeline* pipeline = open();
  whole_ = pipeline ? pipeline->data_shape() : shape_without_data();
  Shape image = whole_, labels = whole_;
  if (is_known(whole_)) {
    image[1] -= 1;
    labels[1] = 1;
    for (const int axis : {2, 3}) {
      labels[axis] = int64_t(float(whole_[axis]) / label_divisor_);
      if (labels[axis] < 1)
        throw FieldError("dense_image_data_param.label_divide_factor",
                         "the label image is empty for images of " + std::to_string(whole_[2]) + "x" +
                             std::to_string(whole_[3]) + " divided by " + to_text(label_divisor_));
    }
  }
  const Shape all[] = {image, labels, Shape{options().batch_size, 1, 1, 2}};
  return {.y = {all, all + tops_}, .w = {}};
}

LayerNeeds PairDataLayer::prepare(const PrepareRequest&, Context&) {
  LayerNeeds needs;
  if (is_known(whole_)) needs.forward_scratch = (whole_.count() + whole_[0]) * int64_t(sizeof(float));
  return needs;
}

void PairDataLayer::forward(Context& context, const Operands& io) {
  float* both = static_cast<float*>(io.scratch);
  Tensor staged = plain_view(whole_, both), packed = plain_view({whole_[0]}, both + whole_.count());
  staged.device = packed.device = io.y[0].device;
  open()->read(context, staged, tops_ > 2 ? packed : Tensor());
  const int64_t channels = whole_[1] - 1, pixels = whole_[2] * whole_[3];
  const float* read = both;
  for_each_typed<TakeImage>(context, io.y[0], read, channels, pixels);
  if (tops_ > 1) {
    const Shape& labels = io.y[1].shape();
    for_each(context, labels.count(),
             TakeLabels{both, io.y[1].f32(), channels, whole_[2], whole_[3], labels[2], labels[3], label_divisor_,
                        options().transform.scale});
  }
  if (tops_ > 2) for_each(context, io.y[2].count(), TakeSizes{packed.f32(), io.y[2].f32()});
}

}  // namespace cortado

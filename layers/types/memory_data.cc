// MemoryData: a batch and its labels from the user's memory. Programs that use a net as a function (net/predictor.h,
// `cortado infer`) fill the tops like those of an Input layer (net/inputs.h converts it to one), in batches of any
// size; Caffe requires multiples of batch_size. transform_param does not apply: arrays are used unchanged, as in
// Caffe's Reset(). A third top is DeepLab's: the height and width of each image.

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// Of OpenCL Caffe's `dim`. Throws FieldError.
Shape shape_of_batch(const caffe::MemoryDataParameter& param) {
  caffe::BlobShape shape;
  for (const uint32_t extent : param.dim()) shape.add_dim(extent);
  const auto refuse = [](bool set, const std::string& field) {
    if (set)
      throw FieldError("memory_data_param." + field, field + " and dim are both set", "remove it: dim has all extents");
  };
  refuse(param.has_batch_size(), "batch_size");
  refuse(param.has_channels(), "channels");
  refuse(param.has_height(), "height");
  refuse(param.has_width(), "width");
  for (int i = 0; i < param.dim_size(); ++i)
    if (param.dim(i) == 0) throw FieldError(entry("memory_data_param.dim", i), "the extent is 0");
  return shape_of(shape, "memory_data_param.dim");
}

class MemoryDataLayer : public Layer {
 public:
  explicit MemoryDataLayer(const LayerOptions& options)
      : name_(options.config.name()), tops_(size_t(options.config.top_size())) {
    const caffe::MemoryDataParameter& param = options.config.memory_data_param();
    if (param.dim_size() > 0) {
      shape_ = shape_of_batch(param);
      return;
    }
    const auto extent = [](const std::string& field, uint32_t value) {
      if (value == 0)
        throw FieldError("memory_data_param." + field, field + " is missing or 0",
                         "set memory_data_param { batch_size: 1 channels: 3 height: 224 width: 224 }");
      return int64_t(value);
    };
    shape_ = {extent("batch_size", param.batch_size()), extent("channels", param.channels()),
              extent("height", param.height()), extent("width", param.width())};
    count_of_elements(shape_, "memory_data_param.batch_size");
  }

  LayerShapes infer(const std::vector<Shape>&) override {
    LayerShapes shapes{.y = {shape_, Shape{shape_[0]}, Shape{shape_[0], 1, 1, 2}}, .w = {}};
    shapes.y.resize(tops_);
    return shapes;
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context&, const Operands&) override {
    throw Error(ExitCode::kUsage,
                "layer '" + name_ + "' (MemoryData) has no data: its batches come from a program's memory",
                "use `cortado infer --input` or Predictor; for training, use a Data or ImageData layer");
  }

  LayerRoles roles() override { return {.needs_host = true}; }
  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }

 private:
  std::string name_;
  size_t tops_;
  Shape shape_;
};

std::vector<Shape> memory_shapes(const caffe::LayerParameter& layer) {
  const caffe::MemoryDataParameter& param = layer.memory_data_param();
  if (param.dim_size() > 0) {
    const Shape batch = shape_of_batch(param);
    return {batch, {batch[0]}, {batch[0], 1, 1, 2}};
  }
  return {{param.batch_size(), param.channels(), param.height(), param.width()},
          {param.batch_size()},
          {param.batch_size(), 1, 1, 2}};
}

const RegisterLayer register_memory_data({
    .name = "MemoryData",
    .help = "a batch and its labels from the user's memory",
    .options = "memory_data_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = 3,
    .make = make_layer<MemoryDataLayer>,
    .kind = LayerKind::kData,
    .input_shapes = memory_shapes,
});

}  // namespace

}  // namespace cortado

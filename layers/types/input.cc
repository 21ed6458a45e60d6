// Input: tops that the caller fills. input_param has their shapes, one for all or one for each.

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"
#include "layers/type_names.h"

namespace cortado {

namespace {

class InputLayer : public Layer {
 public:
  explicit InputLayer(const LayerOptions& options) {
    const caffe::InputParameter& param = options.config.input_param();
    const int tops = options.config.top_size();
    if (param.shape_size() != 1 && param.shape_size() != tops)
      throw FieldError(
          miscounted("input_param.shape", param.shape_size(), tops),
          count_of(param.shape_size(), "shape", "shapes") + " for " + count_of(tops, "top", "tops"),
          "set one for each top, or one for all: input_param { shape { dim: 1 dim: 3 dim: 224 dim: 224 } }");
    for (int i = 0; i < tops; ++i) {
      const int from = param.shape_size() == 1 ? 0 : i;
      shapes_.push_back(shape_of(param.shape(from), entry("input_param.shape", from)));
    }
  }

  LayerShapes infer(const std::vector<Shape>&) override { return {.y = shapes_, .w = {}}; }
  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.aliasing.y_persists = true;
    return needs;
  }
  void forward(Context&, const Operands&) override {}
  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }

 private:
  std::vector<Shape> shapes_;
};

std::vector<Shape> input_shapes(const caffe::LayerParameter& layer) {
  const auto& given = layer.input_param().shape();
  std::vector<Shape> shapes;
  for (int i = 0; i < layer.top_size() && !given.empty(); ++i) {
    const caffe::BlobShape& shape = given[given.size() == 1 ? 0 : std::min(i, given.size() - 1)];
    shapes.emplace_back(std::vector<int64_t>(shape.dim().begin(), shape.dim().end()));
  }
  return shapes;
}

const RegisterLayer register_input({
    .name = type_names::kInput,
    .help = "blobs that the caller fills",
    .options = "input_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = -1,
    .make = make_layer<InputLayer>,
    .kind = LayerKind::kInput,
    .input_shapes = input_shapes,
    .batch_fields = {"input_param.shape"},
});

}  // namespace

}  // namespace cortado

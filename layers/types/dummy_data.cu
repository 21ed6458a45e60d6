// DummyData: tops filled by fillers. Constants are the same in every forward pass. Random values are drawn in each
// pass, as a function of (seed, layer, top, pass). Caffe writes constants once; here they are written in each pass,
// because their memory may be reused in between.

#include "core/error.h"
#include "core/rng.h"
#include "core/text/text.h"
#include "layers/common/shape_rules.h"
#include "layers/common/weights/filler.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class DummyDataLayer : public Layer {
 public:
  explicit DummyDataLayer(const LayerOptions& options)
      : param_(options.config.dummy_data_param()), tops_(options.config.top_size()) {}

  LayerShapes infer(const std::vector<Shape>&) override {
    check_count("data_filler", param_.data_filler_size(), /*none_will_do=*/true);
    LayerShapes shapes;
    for (int i = 0; i < tops_; ++i) {
      shapes.y.push_back(shape(i));
      const int from = param_.data_filler_size() == 1 ? 0 : i;
      check_filler(filler(i), shapes.y.back(), entry("dummy_data_param.data_filler", from));
    }
    return shapes;
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kMakes}; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    layer_seed_ = request.layer_seed;
    return {};
  }

  void forward(Context& context, const Operands& io) override {
    const uint64_t key = mix_key(mix_key(context.seed, layer_seed_), context.pass);
    for (int i = 0; i < tops_; ++i) fill(context, filler(i), mix_key(key, uint64_t(i)), io.y[size_t(i)]);
  }

  LayerRoles roles() override { return {.needs_host = true}; }

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }

  const caffe::FillerParameter& filler(int top) const {
    if (param_.data_filler_size() == 0) return caffe::FillerParameter::default_instance();  // constant 0
    return param_.data_filler(param_.data_filler_size() == 1 ? 0 : top);
  }

 private:
  void check_count(const std::string& field, int count, bool none_will_do = false) const {
    if (count == 1 || count == tops_ || (count == 0 && none_will_do)) return;
    throw FieldError(miscounted("dummy_data_param." + field, count, tops_),
                     count_of(count, "entry", "entries") + " for " + count_of(tops_, "top", "tops"),
                     "set one for each top, or one for all");
  }

  Shape shape(int top) const {
    if (param_.num_size() == 0) {
      check_count("shape", param_.shape_size());
      const int from = param_.shape_size() == 1 ? 0 : top;
      return shape_of(param_.shape(from), entry("dummy_data_param.shape", from));
    }
    if (param_.shape_size() > 0)
      throw FieldError("dummy_data_param.num[0]", "shape and num are both set",
                       "remove num, channels, height and width, the old form of shape");
    caffe::BlobShape old_way;
    const auto add = [&](const std::string& field, const google::protobuf::RepeatedField<uint32_t>& list) {
      check_count(field, list.size());
      old_way.add_dim(list.Get(list.size() == 1 ? 0 : top));
    };
    add("num", param_.num());
    add("channels", param_.channels());
    add("height", param_.height());
    add("width", param_.width());
    return shape_of(old_way, "dummy_data_param.num[0]");
  }

  const caffe::DummyDataParameter& param_;
  int tops_;
  uint64_t layer_seed_ = 0;
};

/// Empty also for options that infer() refuses.
std::optional<caffe::LayerParameter> layer_of_constant(const caffe::LayerParameter& layer, int top) {
  DummyDataLayer dummy({.config = layer});
  std::vector<Shape> shapes;
  try {
    shapes = dummy.infer({}).y;
  } catch (const FieldError&) {
    return std::nullopt;
  }
  if (is_random(dummy.filler(top))) return std::nullopt;
  caffe::LayerParameter alone;
  alone.set_name(layer.name());
  alone.set_type(layer.type());
  alone.add_top(layer.top(top));
  caffe::DummyDataParameter& param = *alone.mutable_dummy_data_param();
  caffe::BlobShape& shape = *param.add_shape();
  for (const int64_t dim : shapes[size_t(top)].dims()) shape.add_dim(dim);
  *param.add_data_filler() = dummy.filler(top);
  return alone;
}

const RegisterLayer register_dummy_data({
    .name = "DummyData",
    .help = "blobs filled with constants or random numbers",
    .options = "dummy_data_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = -1,
    .make = make_layer<DummyDataLayer>,
    .kind = LayerKind::kData,
    .constant = layer_of_constant,
    .batch_fields = {"dummy_data_param.shape", "dummy_data_param.num"},
});

}  // namespace

}  // namespace cortado

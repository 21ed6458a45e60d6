// Data: batches of a dataset, decoded ahead of need and transformed on the net's device by data/pipeline.h; tops are images
// and, if there is a second, labels (shares of classes where samples are mixed).
//
// The shapes come from the dataset's first record, so infer() opens it. Where datasets are not to be touched
// (LayerOptions::open_data is false) the images' shape is known from crop_size, taking colour for granted; without a
// crop it is the one-axis shape {-1}, which means "unknown" and which shape inference lets pass without asking the
// readers.

#include "core/error.h"
#include "data/pipeline.h"
#include "layers/record_source.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class DataLayer : public Layer, public RecordSource {
 public:
  explicit DataLayer(const LayerOptions& options)
      : open_data_(options.open_data),
        gray_(options.config.transform_param().force_gray()),
        labelled_(options.config.top_size() > 1),
        options_(pipeline_options(options)) {
    if (options_.transform.augment.mix.on() && !labelled_)
      throw FieldError("transform_param.augment.mix", "mixing makes shares of classes, and there is no top for them",
                       "give the layer a second top");
  }

  LayerShapes infer(const std::vector<Shape>&) override {
    if (open_data_ && !pipeline_) pipeline_ = std::make_unique<data::DataPipeline>(options_);
    LayerShapes shapes;
    shapes.y.push_back(pipeline_ ? pipeline_->data_shape() : shape_without_data());
    if (labelled_) shapes.y.push_back(label_shape());
    return shapes;
  }

  TypeRule types() const override { return TypeRule::kMakes; }
  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    pipeline_->read(context, io.y[0], labelled_ ? io.y[1] : Tensor());
  }

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }

  std::optional<uint64_t> position() const override { return pipeline_ ? pipeline_->position() : 0; }
  void seek(uint64_t position) override {
    if (pipeline_) pipeline_->seek(position);
  }
  int64_t records() const override { return pipeline_ ? pipeline_->records() : 0; }
  double wait_seconds() const override { return pipeline_ ? pipeline_->wait_seconds() : 0; }

 private:
  static data::PipelineOptions pipeline_options(const LayerOptions& options) {
    data::DataOptions data;
    data.phase = options.phase;
    data.forced_threads = options.data_threads;
    data.seed = options.seed;
    return data::make_pipeline_options(options.config, data, options.open_data);
  }

  Shape label_shape() const {
    const data::MixPlan& mix = options_.transform.augment.mix;
    return mix.on() ? Shape{options_.batch_size, mix.classes} : Shape{options_.batch_size};
  }

  Shape shape_without_data() const {
    const data::TransformPlan& plan = options_.transform;
    if (plan.crop_h == 0 || plan.crop_w == 0) return Shape{-1};
    return Shape{options_.batch_size, gray_ ? 1 : 3, plan.crop_h, plan.crop_w};
  }

  bool open_data_, gray_, labelled_;
  data::PipelineOptions options_;
  std::unique_ptr<data::DataPipeline> pipeline_;  ///< null where datasets are not to be touched
};

const RegisterLayer registered({
    .name = "Data",
    .help = "images and labels from a dataset (LMDB)",
    .options = "data_param",
    .least_x = 0,
    .most_x = 0,
    .least_y = 1,
    .most_y = 2,
    .make = make_layer<DataLayer>,
});

}  // namespace

}  // namespace cortado

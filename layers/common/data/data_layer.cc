#include "layers/common/data/data_layer.h"

#include "core/error.h"
#include "layers/registry.h"

namespace cortado {

namespace {

data::PipelineOptions options_of(const LayerOptions& options) {
  data::DataOptions data;
  data.phase = options.phase;
  data.data_threads = options.data_threads;
  data.skip_bad = options.skip_bad;
  data.seed = options.seed;
  data.share = options.share;
  return make_pipeline_options(options.config, data, options.open_data);
}

}  // namespace

data::PipelineOptions make_pipeline_options(const caffe::LayerParameter& layer, const data::DataOptions& options,
                                            bool read_files) {
  const LayerType* type = find_layer_type(layer.type());
  if (!type || !type->pipeline)
    throw FieldError("type", "a layer of type '" + layer.type() + "' does not read records");
  return type->pipeline(layer, options, read_files);
}

PipelineLayer::PipelineLayer(const LayerOptions& options)
    : open_data_(options.open_data), labelled_(options.config.top_size() > 1), options_(options_of(options)) {
  if (options_.transform.augment.mix.on() && !labelled_)
    throw FieldError("transform_param.augment.mix", "mixed samples need a second top for their class weights",
                     "add a second top to the layer");
}

data::DataPipeline* PipelineLayer::open() {
  if (open_data_ && !pipeline_) pipeline_ = std::make_unique<data::DataPipeline>(options_);
  return pipeline_.get();
}

LayerShapes PipelineLayer::infer(const std::vector<Shape>&) {
  open();
  LayerShapes shapes;
  shapes.y.push_back(pipeline_ ? pipeline_->data_shape() : shape_without_data());
  if (labelled_) shapes.y.push_back(label_shape());
  return shapes;
}

void PipelineLayer::forward(Context& context, const Operands& io) {
  read(context, io.y[0], labelled_ ? io.y[1] : Tensor());
}

void PipelineLayer::seek(uint64_t position) {
  if (pipeline_) pipeline_->seek(position);
}

void PipelineLayer::fail_record(int64_t item, const std::string& what, const std::string& hint) const {
  if (pipeline_) pipeline_->source().fail(pipeline_->record(pipeline_->place(item)), data::SampleError(what, hint));
}

std::string PipelineLayer::about_record(int64_t item, const std::string& what) {
  try {
    fail_record(item, what, {});
  } catch (const Error& error) {
    const Diagnostic& said = error.mistakes()[0];
    return said.place.str() + ": " + said.message;
  }
  return {};
}

int64_t PipelineLayer::records() const {
  const int64_t records = pipeline_ ? pipeline_->records() : 0;
  return records == data::kEndless ? 0 : records;
}

void PipelineLayer::repeat() {
  if (pipeline_) pipeline_->repeat();
}

Shape PipelineLayer::label_shape() const {
  const data::MixPlan& mix = options_.transform.augment.mix;
  return mix.on() ? Shape{options_.batch_size, mix.classes} : Shape{options_.batch_size};
}

}  // namespace cortado

#pragma once

// The base of Data, ImageData, WindowData and similar layers: batches that data/pipeline/pipeline.h prefetches, and a
// position in them.
//
// The shapes come from the first record of the dataset, so infer() opens it. If datasets must not be opened
// (LayerOptions::open_data is false), the derived class returns what it knows of the images' shape. The one-axis shape
// {-1} means "unknown"; shape inference propagates it without calling the readers.

#include <memory>

#include "data/pipeline/pipeline.h"
#include "layers/layer.h"
#include "layers/roles.h"

namespace cortado {

/// The pipeline options of a data layer. Opens no dataset, and the mean file only if `read_files`. Throws FieldError
/// naming the field ("data_param.batch_size"), or "type" if the layer does not read records; Error for a mean file.
data::PipelineOptions make_pipeline_options(const caffe::LayerParameter& layer, const data::DataOptions& options,
                                            bool read_files = true);

class PipelineLayer : public Layer, public RecordSource {
 public:
  /// Throws FieldError like make_pipeline_options(), and if samples are mixed without a second top.
  explicit PipelineLayer(const LayerOptions& options);

  LayerShapes infer(const std::vector<Shape>& x) override;
  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kMakes}; }
  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }
  void forward(Context& context, const Operands& io) override;
  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }
  LayerRoles roles() override { return {.needs_host = true, .cursor = this, .records = this}; }

  uint64_t position() const override { return pipeline_ ? pipeline_->position() : 0; }
  void seek(uint64_t position) override;
  void repeat() override;
  int64_t records() const override;
  const data::DataPipeline* pipeline() const override { return pipeline_.get(); }
  double wait_seconds() const override { return pipeline_ ? pipeline_->wait_seconds() : 0; }
  void fail_record(int64_t item, const std::string& what, const std::string& hint) const override;
  std::string about_record(int64_t item, const std::string& what) override;

 protected:
  const data::PipelineOptions& options() const { return options_; }
  data::DataPipeline* open();  ///< null if datasets must not be opened
  void read(Context& context, const Tensor& y, const Tensor& labels) { pipeline_->read(context, y, labels); }
  const std::vector<std::vector<data::Object>>& objects() const {
    return pipeline_->objects();
  }  ///< of the current batch
  const std::vector<std::vector<int16_t>>& label_maps() const { return pipeline_->label_maps(); }
  /// The known part of y[0]'s shape before the dataset is opened.
  virtual Shape shape_without_data() const = 0;

 private:
  Shape label_shape() const;

  bool open_data_, labelled_;
  data::PipelineOptions options_;
  std::unique_ptr<data::DataPipeline> pipeline_;  ///< null if datasets must not be opened
};

}  // namespace cortado

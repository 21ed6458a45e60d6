// HDF5Data: rows of the datasets that its tops are named after, from the files that a list names. A batch goes on in
// the next file where one ends, and begins anew after the last. Any shape, numbers of any type. No transform but this:
// of volumes, C x L x H x W, crop_size_l, crop_size_h and crop_size_w take a part, anywhere in training and in the
// middle otherwise, at the same place for all tops; then files may have volumes of several sizes.
//
// The shapes are those of the first file, which infer() reads; where datasets are not to be touched they are unknown.
// Each file lies wholly in memory, as in Caffe; unlike there, a shuffled order is a function of the seed, so that a
// resume finds its place.

#include <algorithm>

#include "core/device/device_memory.h"
#include "core/device/host_view.h"
#include "core/error.h"
#include "data/formats/hdf5_rows.h"
#include "data/pipeline/pipeline_options.h"
#include "layers/common/data/record_layer.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class Hdf5DataLayer : public RecordLayer {
 public:
  explicit Hdf5DataLayer(const LayerOptions& options)
      : RecordLayer(options.share, int64_t(options.config.hdf5_data_param().batch_size())),
        open_data_(options.open_data) {
    const caffe::HDF5DataParameter& param = options.config.hdf5_data_param();
    if (param.source().empty())
      throw FieldError("hdf5_data_param.source", "no source: the text file that lists the HDF5 files");
    if (param.batch_size() == 0)
      throw FieldError("hdf5_data_param.batch_size", "batch_size is 0: a batch has at least one row");
    batch_ = int64_t(param.batch_size());
    options_.source = param.source();
    options_.names.assign(options.config.top().begin(), options.config.top().end());
    options_.shuffle = param.shuffle();
    options_.seed = options.seed;
    set_crop(options.config.transform_param());
    options_.random_crop = options.phase == caffe::TRAIN;
  }

  LayerShapes infer(const std::vector<Shape>&) override {
    LayerShapes shapes;
    if (!open_data_) {
      shapes.y.assign(options_.names.size(), Shape{-1});
      return shapes;
    }
    if (!rows_) rows_ = std::make_unique<data::Hdf5Rows>(options_);
    for (size_t i = 0; i < options_.names.size(); ++i) {
      std::vector<int64_t> dims = {batch_};
      dims.insert(dims.end(), rows_->row_shape(i).dims().begin(), rows_->row_shape(i).dims().end());
      shapes.y.emplace_back(std::move(dims));
    }
    return shapes;
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    staged_.resize(io.y.size());
    std::vector<float*> at;
    for (size_t i = 0; i < io.y.size(); ++i) {
      at.push_back(staged_[i].begin(context, io.y[i].f32(), io.y[i].count()));
    }
    if (rows_->position() != cursor_.place()) rows_->seek(cursor_.place());
    for (int64_t n = 0; n < batch_; ++n) {
      rows_->next(at);
      for (size_t i = 0; i < at.size(); ++i) at[i] += rows_->row_shape(i).count();
    }
    for (HostStage& staged : staged_) staged.commit(context);
    cursor_.advance();
  }

 private:
  void set_crop(const caffe::TransformationParameter& param) {
    static const std::vector<std::string> sides = {"crop_size_l", "crop_size_h", "crop_size_w"};
    data::refuse_transforms_but(sides, param,
                                "HDF5Data takes values as they are: it has no transform but crops of volumes",
                                "transform them when the files are made, or by a Power or Scale layer");
    options_.crop = {param.crop_size_l(), param.crop_size_h(), param.crop_size_w()};
    if (!param.has_crop_size_l() && !param.has_crop_size_h() && !param.has_crop_size_w()) return;
    for (size_t i = 0; i < 3; ++i)
      if (options_.crop[i] == 0)
        throw FieldError("transform_param." + sides[i], "it is 0 or not given",
                         "crops of volumes have crop_size_l, crop_size_h and crop_size_w");
  }

  bool open_data_;
  int64_t batch_ = 0;
  data::Hdf5RowsOptions options_;
  std::unique_ptr<data::Hdf5Rows> rows_;  ///< null where datasets are not to be touched
  std::vector<HostStage> staged_;         ///< per y
};

const RegisterLayer register_hdf5_data({
    .name = "HDF5Data",
    .help = "rows of datasets in HDF5 files",
    .options = "hdf5_data_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = -1,
    .make = make_layer<Hdf5DataLayer>,
    .kind = LayerKind::kData,
});

}  // namespace

}  // namespace cortado

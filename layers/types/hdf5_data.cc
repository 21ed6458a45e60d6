// HDF5Data: rows of the datasets with the names of its tops, from a list of files. A batch may span files, and
// continues in the first file after the last. Datasets may have any shape and any numeric type. The only transform is
// cropping: of volumes, C x L x H x W, crop_size_l, crop_size_h and crop_size_w select a part, random in training and
// central otherwise, at the same position for all tops. Then files may have volumes of different sizes.
//
// The shapes are those of the first file, which infer() reads; if datasets must not be opened they are unknown. Each
// file is loaded into memory as a whole, as in Caffe. Unlike there, the shuffled order is a function of the seed, so
// that a resumed run continues in place.

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
      throw FieldError("hdf5_data_param.source", "source is missing: the text file that lists the HDF5 files");
    if (param.batch_size() == 0)
      throw FieldError("hdf5_data_param.batch_size", "batch_size is 0, but must be at least 1");
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

  std::string about_record(int64_t item, const std::string& what) override {
    cursor_.repeat();
    rows_->seek(cursor_.place() + uint64_t(item));
    cursor_.advance();
    return rows_->about_next(what);
  }

 private:
  void set_crop(const caffe::TransformationParameter& param) {
    static const std::vector<std::string> sides = {"crop_size_l", "crop_size_h", "crop_size_w"};
    data::refuse_transforms_but(sides, param, "HDF5Data supports no transform except crops of volumes",
                                "transform the values when writing the files, or by a Power or Scale layer");
    options_.crop = {param.crop_size_l(), param.crop_size_h(), param.crop_size_w()};
    if (!param.has_crop_size_l() && !param.has_crop_size_h() && !param.has_crop_size_w()) return;
    for (size_t i = 0; i < 3; ++i)
      if (options_.crop[i] == 0)
        throw FieldError("transform_param." + sides[i], "it is 0 or not set",
                         "set crop_size_l, crop_size_h and crop_size_w for crops of volumes");
  }

  bool open_data_;
  int64_t batch_ = 0;
  data::Hdf5RowsOptions options_;
  std::unique_ptr<data::Hdf5Rows> rows_;  ///< null if datasets must not be opened
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

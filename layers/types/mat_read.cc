// MatRead (DeepLab): reads its tops from MAT-files (formats/mat_file.h), each from the variable `data` of a file of its
// own (layers/common/data/mat_names.h). A file has width x height x channels values, in the order of MATLAB, and makes
// one item of the batch. With a source, the names of the list follow each other, and the first one follows the last;
// without one the files are numbered from 0.
//
// The shapes are those of the first files, which infer() reads; if files must not be opened they are unknown.

#include <algorithm>

#include "core/device/host_view.h"
#include "core/error.h"
#include "formats/mat_file.h"
#include "layers/common/data/mat_names.h"
#include "layers/common/data/record_layer.h"
#include "layers/registry.h"

namespace cortado {

namespace {

MatArray read_item(const std::string& path) {
  MatArray array = read_mat(path, kMatBlobVariable);
  array.dims.resize(std::max<size_t>(array.dims.size(), 4), 1);
  if (array.dims.size() > 4 || array.dims[3] != 1)
    throw file_error(ExitCode::kData, path, "it has more than three dimensions",
                     "write one file of width x height x channels for each item");
  return array;
}

Shape item_shape(const MatArray& array, int64_t batch) { return {batch, array.dims[2], array.dims[1], array.dims[0]}; }

class MatReadLayer : public RecordLayer {
 public:
  explicit MatReadLayer(const LayerOptions& options)
      : RecordLayer(options.share, options.config.mat_read_param().batch_size()),
        param_(options.config.mat_read_param()),
        open_data_(options.open_data),
        tops_(size_t(options.config.top_size())) {
    if (param_.batch_size() < 1)
      throw FieldError("mat_read_param.batch_size", "batch_size is " + std::to_string(param_.batch_size()),
                       "set it to at least 1");
    names_ = read_mat_names("mat_read_param", param_.prefix(), open_data_ ? param_.source() : "", param_.strip());
  }

  LayerShapes infer(const std::vector<Shape>&) override {
    shapes_.assign(tops_, Shape{-1});
    for (size_t i = 0; i < tops_ && open_data_; ++i)
      shapes_[i] = item_shape(read_item(names_.path(0, i)), param_.batch_size());
    return {.y = shapes_, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    staged_.resize(io.y.size());
    for (size_t i = 0; i < io.y.size(); ++i) {
      float* to = staged_[i].begin(context, io.y[i].f32(), io.y[i].count());
      for (int64_t n = 0; n < param_.batch_size(); ++n) to = read(path_of(int64_t(cursor_.place()) + n, i), i, to);
      staged_[i].commit(context);
    }
    cursor_.advance();
  }

 private:
  std::string path_of(int64_t record, size_t blob) const {
    return names_.path(names_.listed ? record % int64_t(names_.names.size()) : record, blob);
  }

  float* read(const std::string& path, size_t blob, float* to) const {
    const MatArray array = read_item(path);
    const Shape shape = item_shape(array, param_.batch_size());
    if (shape != shapes_[blob])
      throw file_error(
          ExitCode::kData, path,
          "its shape, with the batch, is " + shape.str() + ", but the first file has " + shapes_[blob].str(),
          "write files of the same size");
    return std::copy(array.values.begin(), array.values.end(), to);
  }

  const caffe::MatReadParameter& param_;
  bool open_data_;
  size_t tops_;
  MatNames names_;
  std::vector<Shape> shapes_;
  std::vector<HostStage> staged_;
};

const RegisterLayer register_mat_read({
    .name = "MatRead",
    .help = "reads blobs from MAT-files (DeepLab)",
    .options = "mat_read_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = -1,
    .make = make_layer<MatReadLayer>,
    .kind = LayerKind::kData,
});

}  // namespace

}  // namespace cortado

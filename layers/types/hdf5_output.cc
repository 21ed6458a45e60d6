// HDF5Output: writes its two bottoms as the datasets `data` and `label` of a file, with four axes, as in Caffe (a
// bottom with fewer axes is padded with axes of 1). Caffe writes a file once; here each forward appends rows.
//
// The file is written under a temporary name; each forward writes its rows before it returns. The layer's destructor
// renames the file, which then holds whole batches. Until then, and if forward never ran, a file of the final name is
// unchanged.

#include "core/device/device_memory.h"
#include "core/device/host_view.h"
#include "core/error.h"
#include "core/log.h"
#include "formats/hdf5_file.h"
#include "layers/registry.h"
#include "layers/roles.h"

namespace cortado {

namespace {

int64_t rows_of(const Shape& shape) { return shape.axes() > 0 ? shape[0] : 1; }

Shape four_axes(const Shape& shape) {
  std::vector<int64_t> dims = shape.dims();
  while (dims.size() < 4) dims.push_back(1);
  return Shape(std::move(dims));
}

class Hdf5OutputLayer : public Layer, public BatchMemory {
 public:
  explicit Hdf5OutputLayer(const LayerOptions& options) : path_(options.config.hdf5_output_param().file_name()) {
    if (path_.empty()) throw FieldError("hdf5_output_param.file_name", "file_name is missing: the HDF5 file to write");
    if (options.share.run != options.share.period)
      throw FieldError("type", "every rank would write the same file",
                       "set include { phase: TEST }, or run one process, with shards: N");
  }

  ~Hdf5OutputLayer() override {
    try {
      if (file_) file_->commit();
    } catch (const Error& error) {
      log_error() << "THE OUTPUT " << path_ << " WAS NOT WRITTEN: " << error.mistakes()[0].message;
    }
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (rows_of(x[0]) != rows_of(x[1]))
      throw FieldError("bottom[1]", "it has " + std::to_string(rows_of(x[1])) + " rows, the first bottom has " +
                                        std::to_string(rows_of(x[0])));
    return {};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    if (!file_) file_.emplace(path_);
    std::vector<TensorEntry> entries;
    std::vector<HostView> views;
    std::vector<const float*> values;
    for (size_t i = 0; i < 2; ++i) {
      entries.push_back({i == 0 ? "data" : "label", "F32", four_axes(io.x[i].shape())});
      views.emplace_back(context, io.x[i].f32(), io.x[i].count());
      values.push_back(views[i].data());
    }
    try {
      file_->add(entries, values);
    } catch (...) {
      file_.reset();  // prevents finishing the file
      throw;
    }
  }

  LayerRoles roles() override { return {.needs_host = true, .memory = this}; }
  bool differentiable(int) const override { return false; }

 private:
  std::string path_;
  std::optional<Hdf5Appender> file_;
};

const RegisterLayer register_hdf5_output({
    .name = "HDF5Output",
    .help = "writes its bottoms to an HDF5 file",
    .options = "hdf5_output_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 0,
    .max_tops = 0,
    .make = make_layer<Hdf5OutputLayer>,
});

}  // namespace

}  // namespace cortado

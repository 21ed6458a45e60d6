// MatWrite (DeepLab): writes its bottoms as MAT-files (formats/mat_file.h), each as the variable `data` of a file of
// its own (layers/common/data/mat_names.h), in the order of MATLAB: width x height x channels x images; a bottom with
// fewer than four axes is padded with axes of 1. Passes are counted from 0 for each object; those that `period` divides
// are written. With a source, pass n has the n-th name of the list.

#include <algorithm>

#include "core/device/host_view.h"
#include "core/error.h"
#include "formats/mat_file.h"
#include "layers/common/data/mat_names.h"
#include "layers/registry.h"
#include "layers/roles.h"

namespace cortado {

namespace {

/// The extents, the last axis first.
std::vector<int64_t> mat_dims_of(const Shape& shape) {
  std::vector<int64_t> dims = shape.dims();
  while (dims.size() < 4) dims.push_back(1);
  std::reverse(dims.begin(), dims.end());
  return dims;
}

class MatWriteLayer : public Layer, public BatchMemory {
 public:
  explicit MatWriteLayer(const LayerOptions& options) : param_(options.config.mat_write_param()) {
    if (param_.period() < 1)
      throw FieldError("mat_write_param.period", "period is " + std::to_string(param_.period()),
                       "set it to at least 1");
    if (options.share.run != options.share.period)
      throw FieldError("type", "every rank would write the same files",
                       "set include { phase: TEST }, or run one process, with shards: N");
    names_ =
        read_mat_names("mat_write_param", param_.prefix(), options.open_data ? param_.source() : "", param_.strip());
  }

  LayerShapes infer(const std::vector<Shape>&) override { return {}; }
  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    const int64_t pass = pass_++;
    if (pass % param_.period() != 0) return;
    if (names_.listed && pass >= int64_t(names_.names.size()))
      throw Error(ExitCode::kUsage,
                  "pass " + std::to_string(pass + 1) + " has no name in " + param_.source() + ", which lists " +
                      std::to_string(names_.names.size()),
                  "run fewer iterations, or list more names");
    for (size_t i = 0; i < io.x.size(); ++i) {
      const HostView x(context, io.x[i].f32(), io.x[i].count());
      write_mat(names_.path(pass, i), kMatBlobVariable, mat_dims_of(io.x[i].shape()), x.data());
    }
  }

  LayerRoles roles() override { return {.needs_host = true, .memory = this}; }
  bool differentiable(int) const override { return false; }

 private:
  const caffe::MatWriteParameter& param_;
  MatNames names_;
  int64_t pass_ = 0;
};

const RegisterLayer register_mat_write({
    .name = "MatWrite",
    .help = "writes its bottoms to MAT-files (DeepLab)",
    .options = "mat_write_param",
    .min_bottoms = 1,
    .max_bottoms = -1,
    .min_tops = 0,
    .max_tops = 0,
    .make = make_layer<MatWriteLayer>,
});

}  // namespace

}  // namespace cortado

// Crop: a window of x[0] with the extents of x[1] on all axes from `axis` on (default 2); x[1]'s values are not read.
// The window starts at `offset`: no value is 0, one value is for all cropped axes, else one for each. Backward writes
// dy into the window and zeros around it.

#include <vector>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/typed.h"
#include "layers/common/shape_rules.h"
#include "layers/common/windows/crop_window.h"
#include "layers/registry.h"

namespace cortado {

namespace {

template <typename T>
struct CropForward {
  const T* x;
  T* y;
  CropWindow window;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    y[i] = x[window.row_in_x(row) + i - row * window.part_width];
  }
};

template <typename T>
struct CropBackward {
  const T* dy;
  T* dx;
  CropWindow window;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const int64_t from = window.row_of_window(row), at = i - row * window.width - window.start;
    const bool inside = from >= 0 && at >= 0 && at < window.part_width;
    dx[i] = inside ? float(dy[from * window.part_width + at]) : 0.0f;
  }
};

class CropLayer : public Layer {
 public:
  explicit CropLayer(const LayerOptions& options) : param_(options.config.crop_param()) {}

  LayerShapes infer(const std::vector<Shape>& x) override;
  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }
  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    const int64_t rows = window_.part_width > 0 ? io.y[0].count() / window_.part_width : 0;
    const ChannelView view{1, rows, window_.part_width, Layout::kPlain};
    for_each_channel_typed<CropForward>(context, view, io.x[0], io.y[0], window_);
  }

  void backward(Context& context, const Operands& io) override {
    if (!io.dx[0]) return;
    const int64_t rows = window_.width > 0 ? io.dx[0].count() / window_.width : 0;
    const ChannelView view{1, rows, window_.width, Layout::kPlain};
    for_each_channel_typed<CropBackward>(context, view, io.dy[0], io.dx[0], window_);
  }

  bool differentiable(int i) const override { return i == 0; }

 private:
  int64_t offset_of(int cropped_axis) const {
    if (param_.offset_size() == 0) return 0;
    return param_.offset(param_.offset_size() == 1 ? 0 : cropped_axis);
  }
  void check_fit(const std::vector<Shape>& x, int axis, int cropped) const;

  const caffe::CropParameter& param_;
  CropWindow window_;
};

/// Throws FieldError unless the window lies within x[0] on `axis`, the cropped axis of index `cropped`.
void CropLayer::check_fit(const std::vector<Shape>& x, int axis, int cropped) const {
  const int64_t offset = offset_of(cropped), extent = x[1][axis];
  if (offset + extent <= x[0][axis]) return;
  const int entries = param_.offset_size();
  throw FieldError(entries == 0 ? "bottom[1]" : entry("crop_param.offset", entries == 1 ? 0 : cropped),
                   "the window is from " + std::to_string(offset) + " to " + std::to_string(offset + extent) +
                       " of axis " + std::to_string(axis) + ", whose extent is " + std::to_string(x[0][axis]),
                   "bottom[0] has shape " + x[0].str() + ", bottom[1] " + x[1].str());
}

LayerShapes CropLayer::infer(const std::vector<Shape>& x) {
  if (x[1].axes() != x[0].axes())
    throw FieldError("bottom[1]", "its shape is " + x[1].str() + ", but bottom[0] has " + x[0].str(),
                     "both must have the same number of axes");
  const int first = axis_of(x[0], param_.axis(), "crop_param.axis"), axes = x[0].axes(), cropped = axes - first;
  if (param_.offset_size() > 1 && param_.offset_size() != cropped)
    throw FieldError(miscounted("crop_param.offset", param_.offset_size(), cropped),
                     count_of(param_.offset_size(), "offset", "offsets") + " for " +
                         count_of(cropped, "cropped axis", "cropped axes"),
                     "set none, one for all, or one for each axis from " + std::to_string(first) + " on");
  Shape y = x[0];
  std::vector<int64_t> offsets;
  for (int a = first; a < axes; ++a) {
    check_fit(x, a, a - first);
    offsets.push_back(offset_of(a - first));
    y[a] = x[1][a];
  }
  window_ = crop_window(x[0], y, offsets);
  return {.y = {y}, .w = {}};
}

const RegisterLayer register_crop({
    .name = "Crop",
    .help = "crops the first bottom to the size of the second",
    .options = "crop_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<CropLayer>,
});

}  // namespace

}  // namespace cortado

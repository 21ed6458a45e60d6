// MergeCrop (OpenCL Caffe, for U-Net): the channels of x[0], then those of the middle of x[1], which is as large or
// larger on the axes after the channels: on each of them the window begins at (extent of x[1] - extent of x[0]) / 2,
// rounded down. ADD adds the two instead. A bottom with forward: false counts as zeros; one with backward: false gets
// no gradient, which is the default of the second.

#include <algorithm>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/typed.h"
#include "layers/common/windows/crop_window.h"
#include "layers/registry.h"

namespace cortado {

namespace {

using MergeCropOptions = caffe::MergeCropParameter;

/// Rows of the last axis. An image of y has `y_rows`; its first `own` are those of x[0], and those of the window of
/// x[1] begin at `others`.
struct MergedRows {
  int64_t y_rows, own, others, count;  ///< count: of the window, per image
  bool takes_own, takes_others;
  CropWindow window;
};

template <typename T>
struct MergeCropForward {
  const T* x;
  const T* larger;
  T* y;
  MergedRows rows;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const int64_t image = row / rows.y_rows, r = row % rows.y_rows, column = i - row * rows.window.part_width;
    float sum = 0;
    if (rows.takes_own && r < rows.own) sum = x[(image * rows.own + r) * rows.window.part_width + column];
    if (rows.takes_others && r >= rows.others)
      sum += float(larger[rows.window.row_in_x(image * rows.count + r - rows.others) + column]);
    y[i] = sum;
  }
};

/// dx of x[0].
template <typename T>
struct MergeCropOwn {
  T* dx;
  const T* dy;
  MergedRows rows;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const int64_t from = row / rows.own * rows.y_rows + row % rows.own;
    dx[i] = dy[(from - row) * rows.window.part_width + i];
  }
};

/// dx of x[1].
template <typename T>
struct MergeCropOther {
  T* dx;
  const T* dy;
  MergedRows rows;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const CropWindow& window = rows.window;
    const int64_t from = window.row_of_window(row), column = i - row * window.width - window.start;
    const bool inside = from >= 0 && column >= 0 && column < window.part_width;
    if (!inside) {
      dx[i] = 0;
      return;
    }
    const int64_t y_row = from / rows.count * rows.y_rows + rows.others + from % rows.count;
    dx[i] = dy[y_row * window.part_width + column];
  }
};

ChannelView rows_across(const Tensor& tensor, int64_t width) {
  return {1, width > 0 ? tensor.count() / width : 0, width, Layout::kPlain};
}

class MergeCropLayer : public Layer {
 public:
  explicit MergeCropLayer(const LayerOptions& options) : param_(options.config.mergecrop_param()) {
    const auto check = [](int values, const std::string& field) {
      if (values > 2)
        throw FieldError(entry("mergecrop_param." + field, 2), "it has " + std::to_string(values) + " values",
                         "set one for each bottom");
    };
    check(param_.forward_size(), "forward");
    check(param_.backward_size(), "backward");
  }

  LayerShapes infer(const std::vector<Shape>& x) override;
  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }
  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    for_each_channel_typed<MergeCropForward>(context, rows_across(io.y[0], rows_.window.part_width), io.x[0], io.x[1],
                                             io.y[0], rows_);
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0])
      for_each_channel_typed<MergeCropOwn>(context, rows_across(io.dx[0], rows_.window.part_width), io.dx[0], io.dy[0],
                                           rows_);
    if (io.dx[1])
      for_each_channel_typed<MergeCropOther>(context, rows_across(io.dx[1], rows_.window.width), io.dx[1], io.dy[0],
                                             rows_);
  }

  bool differentiable(int i) const override {
    return takes(i) && (i < param_.backward_size() ? param_.backward(i) : i == 0);
  }

 private:
  bool takes(int i) const { return i < param_.forward_size() ? param_.forward(i) : true; }

  const MergeCropOptions& param_;
  MergedRows rows_{};
};

LayerShapes MergeCropLayer::infer(const std::vector<Shape>& x) {
  const int axes = x[0].axes();
  const std::string shapes = "its shape is " + x[1].str() + ", but bottom[0] has " + x[0].str();
  if (axes < 3) throw FieldError("bottom[0]", "its shape is " + x[0].str() + "; MergeCrop needs N x C x ...");
  if (x[1].axes() != axes || x[1][0] != x[0][0])
    throw FieldError("bottom[1]", shapes, "both need the same number of axes and of images");
  const bool adds = param_.operation() == MergeCropOptions::ADD;
  if (adds && x[1][1] != x[0][1]) throw FieldError("bottom[1]", shapes, "ADD needs the same number of channels");
  Shape y = x[0], part = x[0];
  part[1] = x[1][1];
  if (!adds) y[1] += x[1][1];
  std::vector<int64_t> offsets;
  for (int a = 2; a < axes; ++a) {
    if (x[1][a] < x[0][a])
      throw FieldError("bottom[1]", shapes, "it must be at least as large on every axis after the channels");
    offsets.push_back((x[1][a] - x[0][a]) / 2);
  }
  const int64_t plane = x[0].count(2, axes - 1);
  rows_ = {.y_rows = y[1] * plane,
           .own = x[0][1] * plane,
           .others = adds ? 0 : x[0][1] * plane,
           .count = x[1][1] * plane,
           .takes_own = takes(0),
           .takes_others = takes(1),
           .window = crop_window(x[1], part, offsets)};
  return {.y = {y}, .w = {}};
}

const RegisterLayer register_merge_crop({
    .name = "MergeCrop",
    .help = "joins the channels of a blob and those of the middle of a larger one (OpenCL Caffe)",
    .options = "mergecrop_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<MergeCropLayer>,
    .family = LayerFamily::kCombine,
});

}  // namespace

}  // namespace cortado

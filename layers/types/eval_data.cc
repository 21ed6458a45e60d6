// EvalData (Cascade R-CNN): images and their objects, for tests. Both come from a window file with DIFFICULT
// (data/sources/object_file.h). Tops are
//   images N x 3 x H x W, BGR, minus transform_param.mean_value and times its scale
//   objects G x 8 x 1 x 1: index of the image in the batch, x1, y1, x2, y2, class, whether it is ignored, and
//   difficult.
//     G is N times the largest number of objects in an image; unused rows come last, all -1
//   optionally, sizes N x 2 x 1 x 1: the height and the width of each image
//
// An image is resized to resize_width x resize_height, if both are set. Else, if short_size and long_size are, its
// shorter side becomes short_size; sides above long_size are squeezed to it. Both sides are then rounded to the nearest
// multiple of 32. Cascade R-CNN's tops have the size of their image. Here all have the largest size that the options
// permit, or that the file lists; an image is at the upper left, padded with 0.

#include <algorithm>
#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "data/pipeline/pipeline_options.h"
#include "layers/common/data/record_layer.h"
#include "layers/registry.h"
#include "layers/types/object_images.h"

namespace cortado {

namespace {

constexpr int kEvalDataMultiple = 32;
constexpr uint32_t kEvalDataMostImages = 1 << 16;
const std::string kEvalDataOwn = "eval_data_param.";

int to_multiple(double side) { return kEvalDataMultiple * std::max(1, int(std::lround(side / kEvalDataMultiple))); }

class EvalDataLayer : public RecordLayer {
 public:
  explicit EvalDataLayer(const LayerOptions& options);

  LayerShapes infer(const std::vector<Shape>&) override {
    if (open_data_ && !images_.is_open()) images_.open(param_.source(), true, param_.batch_size());
    set_sample();
    const int64_t batch = param_.batch_size();
    std::vector<Shape> y = {height_ > 0 ? Shape{batch, 3, height_, width_} : Shape{-1}, images_.rows_shape(batch, 8),
                            Shape{batch, 2, 1, 1}};
    y.resize(size_t(tops_));
    return {.y = y, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }
  void forward(Context& context, const Operands& io) override;

 private:
  bool fixed() const { return param_.has_resize_width() && param_.has_resize_height(); }
  bool limited() const { return param_.has_short_size() && param_.has_long_size(); }
  void set_sample();
  void resize();

  const caffe::EvalDataParameter& param_;
  bool open_data_;
  int tops_;
  ObjectImages images_;
  PixelScale pixels_;
  int height_ = 0, width_ = 0;  ///< of a sample; 0: unknown
  SampleObjects seen_ = {};
  HostStage stages_[3];
};

EvalDataLayer::EvalDataLayer(const LayerOptions& options)
    : RecordLayer(options.share, int64_t(options.config.eval_data_param().batch_size())),
      param_(options.config.eval_data_param()),
      open_data_(options.open_data),
      tops_(options.config.top_size()),
      images_(param_.root_folder()),
      pixels_(pixel_scale(options.config.transform_param())) {
  data::refuse_transforms_but({"mean_value", "scale"}, options.config.transform_param(),
                              "EvalData resizes images itself", "use only mean_value and scale");
  if (param_.source().empty()) throw FieldError(kEvalDataOwn + "source", "the window file is missing");
  require_between(kEvalDataOwn + "batch_size", param_.batch_size(), 1, kEvalDataMostImages);
  const auto require_side = [](const std::string& name, uint32_t side) {
    require_between(kEvalDataOwn + name, side, 1, kObjectMostSide);
  };
  if (fixed()) {
    require_side("resize_width", param_.resize_width());
    require_side("resize_height", param_.resize_height());
  } else if (limited()) {
    require_side("short_size", param_.short_size());
    require_side("long_size", param_.long_size());
  }
}

void EvalDataLayer::set_sample() {
  height_ = width_ = 0;
  if (fixed()) {
    height_ = to_multiple(param_.resize_height()), width_ = to_multiple(param_.resize_width());
  } else if (limited()) {
    height_ = width_ = to_multiple(param_.long_size());
  } else if (images_.is_open()) {
    for (const data::ObjectImage& listed : images_.file().images) {
      if (std::max(listed.height, listed.width) > int(kObjectMostSide))
        images_.fail(listed, "it is listed as larger than " + std::to_string(kObjectMostSide) + " pixels", "");
      height_ = std::max(height_, to_multiple(listed.height)), width_ = std::max(width_, to_multiple(listed.width));
    }
  }
}

void EvalDataLayer::resize() {
  double height = images_.image().height, width = images_.image().width;
  if (fixed()) {
    height = param_.resize_height(), width = param_.resize_width();
  } else if (limited()) {
    const double scale = double(param_.short_size()) / std::min(height, width);
    height = std::min(std::round(height * scale), double(param_.long_size()));
    width = std::min(std::round(width * scale), double(param_.long_size()));
  }
  images_.resize(std::min(to_multiple(height), height_), std::min(to_multiple(width), width_));
}

void EvalDataLayer::forward(Context& context, const Operands& io) {
  float* to[3] = {};
  for (size_t i = 0; i < io.y.size(); ++i) {
    to[i] = stages_[i].begin(context, io.y[i].f32(), io.y[i].count());
    std::fill_n(to[i], io.y[i].count(), i == 1 ? -1.0f : 0.0f);
  }
  const auto& listed = images_.file().images;
  for (int64_t n = 0; n < int64_t(param_.batch_size()); ++n) {
    const data::ObjectImage& one = listed[size_t((cursor_.place() + uint64_t(n)) % listed.size())];
    images_.read(one);
    const int read_height = images_.image().height, read_width = images_.image().width;
    resize();
    images_.place(one, read_height, read_width, false, seen_);
    const int height = images_.image().height, width = images_.image().width;
    const ObjectView whole = {{0, width, width, 0, 0, width, 1}, {0, height, height, 0, 0, height, 1}};
    images_.cut(whole, pixels_, height_, width_, to[0] + n * 3 * int64_t(height_) * width_);
    if (to[1]) to[1] = write_objects(seen_, n, to[1]);
    if (to[2]) to[2][2 * n] = float(height), to[2][2 * n + 1] = float(width);
  }
  for (size_t i = 0; i < io.y.size(); ++i) stages_[i].commit(context);
  cursor_.advance();
}

const RegisterLayer register_eval_data({
    .name = "EvalData",
    .help = "images and their objects, for tests (Cascade R-CNN)",
    .options = "eval_data_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 2,
    .max_tops = 3,
    .make = make_layer<EvalDataLayer>,
    .kind = LayerKind::kData,
});

}  // namespace

}  // namespace cortado

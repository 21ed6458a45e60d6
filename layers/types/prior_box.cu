// PriorBox: SSD's default boxes. y is 1 x 2 x 4 P: the corners of all P boxes, divided by the image's sides, then the
// variances of all. The cells of bottom[0] follow row by row. Each has, around its centre ((w + offset) step_w,
// (h + offset) step_h), for each min_size s in turn
//   s x s,   sqrt(s max_size) squared if max_size is set,   s sqrt(r) x s / sqrt(r) for each ratio r but 1,
// where s and max_size are truncated to integers. FaceBoxes' fixed_size f with density n adds n x n boxes f x f, spaced
// by f / n (rounded down), around the same centre, before the others. TextBoxes' denser_prior_boxes adds to each box
// one that is half a step lower.
//
// With densify (FaceBoxes, Zhang et al. 2017) boxes of min_size s have the sides s - 1. There are 4 x 4 of 32, spaced
// by 8 from (-16, -16) on, and 2 x 2 of 64, spaced by 16 from (-16, -16) on. proto/upgrade/upgrade.cc finds nets that
// need it: their layers have SSD's options.

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/device/device_memory.h"
#include "core/error.h"
#include "core/loops/for_each.h"
#include "core/text/text.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// A box of a cell in pixels, relative to the cell's centre.
struct CellBox {
  float x, y, width, height;
};

struct WriteBoxes {
  const CellBox* boxes;  ///< the boxes of one cell
  float* y;
  int64_t per_cell, cells_across;
  float step_w, step_h, offset_w, offset_h, image_w, image_h;
  bool clip;

  /// Box i.
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t cell = i / per_cell;
    const CellBox& box = boxes[i % per_cell];
    const float x = (float(cell % cells_across) + offset_w) * step_w + box.x;
    const float top = (float(cell / cells_across) + offset_h) * step_h + box.y;
    y[4 * i] = limited((x - box.width / 2) / image_w);
    y[4 * i + 1] = limited((top - box.height / 2) / image_h);
    y[4 * i + 2] = limited((x + box.width / 2) / image_w);
    y[4 * i + 3] = limited((top + box.height / 2) / image_h);
  }
  CORTADO_HD float limited(float v) const { return clip ? fminf(fmaxf(v, 0), 1) : v; }
};

constexpr float kLargestSide = 1e6f, kMaxDense = 64;

struct WriteVariances {
  float* y;
  float v[4];
  CORTADO_HD void operator()(int64_t i) const { y[i] = v[i % 4]; }
};

class PriorBoxLayer : public Layer {
 public:
  explicit PriorBoxLayer(const LayerOptions& options) : param_(options.config.prior_box_param()) {
    check_sizes();
    set_ratios();
    set_variances();
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    for (int64_t i = 0; i < 2; ++i)
      if (x[size_t(i)].axes() != 4)
        throw FieldError(entry("bottom", i), "its shape is " + x[size_t(i)].str() + "; it needs N x C x H x W",
                         "use a feature map as bottom[0] and the images as bottom[1]");
    cells_h_ = x[0][2], cells_w_ = x[0][3];
    image_h_ = image_side(param_.img_h(), x[1][2]);
    image_w_ = image_side(param_.img_w(), x[1][3]);
    step_h_ = step(param_.has_step_h(), param_.step_h(), image_h_, cells_h_);
    step_w_ = step(param_.has_step_w(), param_.step_w(), image_w_, cells_w_);
    cell_boxes_ = boxes_of_a_cell();
    Shape y{1, 2, int64_t(cell_boxes_.size()), 4, cells_h_, cells_w_};
    const int64_t numbers = count_of_elements(y, "bottom[0]") / 2;
    return {.y = {Shape{1, 2, numbers}}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kReads}; }

  LayerNeeds prepare(const PrepareRequest&, Context& context) override {
    const size_t bytes = cell_boxes_.size() * sizeof(CellBox);
    placed_ = DeviceMemory(context, bytes);
    copy_to_device(context, placed_.data(), cell_boxes_.data(), bytes);
    return {};
  }

  void forward(Context& context, const Operands& io) override {
    float* y = io.y[0].f32();
    const int64_t per_cell = int64_t(cell_boxes_.size()), boxes = per_cell * cells_h_ * cells_w_;
    for_each(context, boxes,
             WriteBoxes{reinterpret_cast<const CellBox*>(placed_.data()), y, per_cell, cells_w_, step_w_, step_h_,
                        param_.has_offset_w() ? param_.offset_w() : param_.offset(),
                        param_.has_offset_h() ? param_.offset_h() : param_.offset(), float(image_w_), float(image_h_),
                        param_.clip()});
    for_each(context, 4 * boxes,
             WriteVariances{y + 4 * boxes, {variances_[0], variances_[1], variances_[2], variances_[3]}});
  }

  bool differentiable(int) const override { return false; }

 private:
  static void require_positive(const google::protobuf::RepeatedField<float>& list, const std::string& field) {
    for (int i = 0; i < list.size(); ++i)
      if (!(list.Get(i) > 0 && list.Get(i) <= kLargestSide))
        throw FieldError(
            entry("prior_box_param." + field, i),
            "it is " + to_text(list.Get(i)) + ", but must be above 0 and at most " + to_text(kLargestSide));
  }

  void check_sizes() const {
    require_positive(param_.min_size(), "min_size");
    require_positive(param_.max_size(), "max_size");
    require_positive(param_.aspect_ratio(), "aspect_ratio");
    require_positive(param_.fixed_size(), "fixed_size");
    if (param_.min_size_size() == 0 && param_.fixed_size_size() == 0)
      throw FieldError("prior_box_param.min_size", "it is missing", "set the side of at least one box, in pixels");
    if (param_.max_size_size() > 0 && param_.max_size_size() != param_.min_size_size())
      throw FieldError("prior_box_param.max_size[0]",
                       count_of(param_.max_size_size(), "max_size", "max_sizes") + " for " +
                           count_of(param_.min_size_size(), "min_size", "min_sizes"),
                       "set one for each min_size, or none");
    for (int i = 0; i < param_.max_size_size(); ++i)
      if (param_.max_size(i) <= param_.min_size(i))
        throw FieldError(entry("prior_box_param.max_size", i), "it is " + to_text(param_.max_size(i)) +
                                                                   ", but must be above its min_size, " +
                                                                   to_text(param_.min_size(i)));
    if (param_.densify() && (param_.max_size_size() > 0 || param_.aspect_ratio_size() > 0))
      throw FieldError("prior_box_param.densify", "it does not support max_size and aspect_ratio", "remove it");
    if (param_.density_size() != param_.fixed_size_size())
      throw FieldError("prior_box_param.density",
                       count_of(param_.density_size(), "density", "densities") + " for " +
                           count_of(param_.fixed_size_size(), "fixed_size", "fixed_sizes"),
                       "set one for each fixed_size");
    for (int i = 0; i < param_.density_size(); ++i)
      if (!(param_.density(i) >= 1 && param_.density(i) <= kMaxDense))
        throw FieldError(entry("prior_box_param.density", i),
                         "it is " + to_text(param_.density(i)) + ", but must be between 1 and " + to_text(kMaxDense));
  }

  /// 1, then each distinct aspect_ratio, with `flip` followed by its inverse.
  void set_ratios() {
    ratios_ = {1};
    for (const float ratio : param_.aspect_ratio()) {
      const auto there = [ratio](float known) { return std::fabs(ratio - known) < 1e-6f; };
      if (std::any_of(ratios_.begin(), ratios_.end(), there)) continue;
      ratios_.push_back(ratio);
      if (param_.flip()) ratios_.push_back(1 / ratio);
    }
  }

  void set_variances() {
    require_positive(param_.variance(), "variance");
    const int given = param_.variance_size();
    if (given > 1 && given != 4)
      throw FieldError("prior_box_param.variance[0]", "there are " + std::to_string(given),
                       "set one, or four for the sides of a box");
    for (int k = 0; k < 4; ++k) variances_[k] = given == 0 ? 0.1f : param_.variance(given == 1 ? 0 : k);
  }

  int64_t image_side(uint32_t told, int64_t of_images) const {
    const int64_t side = told > 0 ? told : param_.img_size() > 0 ? param_.img_size() : of_images;
    require_extent(side, "bottom[1]");
    return side;
  }

  float step(bool told, float by_side, int64_t image, int64_t cells) const {
    const std::string field = told ? "prior_box_param.step_h" : "prior_box_param.step";
    const float step = told ? by_side : param_.step();
    if (!(step >= 0 && std::isfinite(step)))
      throw FieldError(field, "it is " + to_text(step) + ", but must be at least 0");
    return step > 0 ? step : float(image) / float(cells);
  }

  std::vector<CellBox> boxes_of_a_cell() const {
    std::vector<CellBox> boxes;
    const auto add = [&](const CellBox& box) {
      boxes.push_back(box);
      if (param_.denser_prior_boxes()) boxes.push_back({box.x, box.y + step_h_ / 2, box.width, box.height});
    };
    for (int i = 0; i < param_.fixed_size_size(); ++i) {
      const int side = int(param_.fixed_size(i)), density = int(param_.density(i)), shift = side / density;
      const float first = float(shift) / 2 - float(side) / 2;
      for (int k = 0; k < density * density; ++k)
        add({first + float(k % density * shift), first + float(k / density * shift), float(side), float(side)});
    }
    for (int i = 0; i < param_.min_size_size(); ++i) {
      const float side = std::trunc(param_.min_size(i));
      if (param_.densify()) {
        constexpr float kFirst = -16;
        const int across = side == 32 ? 4 : side == 64 ? 2 : 1, spacing = side == 32 ? 8 : 16;
        for (int k = 0; k < across * across; ++k)
          add({across == 1 ? 0 : kFirst + float(k % across * spacing),
               across == 1 ? 0 : kFirst + float(k / across * spacing), side - 1, side - 1});
        continue;
      }
      add({0, 0, side, side});
      if (param_.max_size_size() > 0) {
        const float between = std::sqrt(side * std::trunc(param_.max_size(i)));
        add({0, 0, between, between});
      }
      for (size_t r = 1; r < ratios_.size(); ++r)
        add({0, 0, side * std::sqrt(ratios_[r]), side / std::sqrt(ratios_[r])});
    }
    return boxes;
  }

  const caffe::PriorBoxParameter& param_;
  std::vector<float> ratios_;
  float variances_[4];
  int64_t cells_h_ = 0, cells_w_ = 0, image_h_ = 0, image_w_ = 0;
  float step_h_ = 0, step_w_ = 0;
  std::vector<CellBox> cell_boxes_;
  DeviceMemory placed_;
};

const RegisterLayer register_prior_box({
    .name = "PriorBox",
    .help = "the default boxes of detections, for each cell of a feature map",
    .options = "prior_box_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<PriorBoxLayer>,
});

}  // namespace

}  // namespace cortado

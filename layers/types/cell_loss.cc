// DetectionLoss of YOLO v1. An image is side x side cells, row by row. bottom[0] has for each image num_class planes of
// cells with the scores of classes, num_object planes with scores of boxes, and num_object x 4 planes with the boxes.
// bottom[1] has an unused plane, one that marks the cells with an object, one of classes, and then for each cell the
// four numbers of its object's box: centre and sides, relative to the image's size.
//
// With constriant (sic) a predicted centre is relative to its cell; with sqrt predicted sides are square roots. In a
// cell with an object the responsible box is the predicted box that overlaps it most, or without any overlap that with
// the smallest difference. y is the sum of
//   class_scale (score - 1 of the right class, else 0)^2 over all classes     / cells with objects
//   object_scale (score of the responsible box - 1)^2                         / cells with objects
//   noobject_scale (score of a box that is not responsible)^2                 / such boxes
//   coord_scale (difference of each number of the responsible box)^2          / cells with objects
// A divisor of 0 is replaced by 1. As in the original code, dx is not the derivative of y. It is dy times scale times
// difference / images, and the target of the responsible box's score is its overlap, not 1. An invalid class makes y
// NaN.

#include "layers/types/cell_loss.h"

#include <algorithm>
#include <cmath>

#include "core/box.h"
#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/shape_rules.h"
#include "layers/common/weights/kept_gradient.h"

namespace cortado {

namespace {

/// A box as its centre and sides.
struct Centred {
  float v[4];
  Box box() const { return {v[0] - v[2] / 2, v[1] - v[3] / 2, v[0] + v[2] / 2, v[1] + v[3] / 2}; }
};

struct CellLossSums {
  double classes = 0, objects = 0, others = 0, boxes = 0;
  int64_t cells = 0;
};

class GridLossLayer : public Layer {
 public:
  explicit GridLossLayer(const LayerOptions& options) : param_(options.config.detection_loss_param()) {
    require(param_.side(), "side", "the number of cells along each side of the image");
    require(param_.num_class(), "num_class", "the number of classes");
    require(param_.num_object(), "num_object", "the number of boxes of a cell");
    for (const auto& [scale, name] : {std::pair(param_.object_scale(), "object_scale"),
                                      {param_.noobject_scale(), "noobject_scale"},
                                      {param_.class_scale(), "class_scale"},
                                      {param_.coord_scale(), "coord_scale"}})
      if (!std::isfinite(scale))
        throw FieldError(std::string("detection_loss_param.") + name, "it is " + to_text(scale));
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    cells_ = int64_t(param_.side()) * param_.side();
    require_axes(x[0], 2);
    const int64_t planes = int64_t(param_.num_class()) + 5 * int64_t(param_.num_object());
    require_values(x, 0, planes, "num_class + 5 num_object");
    require_values(x, 1, 7, "7");
    images_ = x[0][0], width_ = x[0].count(1);
    return {.y = {Shape()}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    gradient_.resize(size_t(images_ * width_));
    LayerNeeds needs;
    needs.saved = {request.backward ? images_ * width_ * int64_t(sizeof(float)) : 0};
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    const HostView x(context, io.x[0].f32(), io.x[0].count()), labels(context, io.x[1].f32(), io.x[1].count());
    std::fill(gradient_.begin(), gradient_.end(), 0.0f);
    CellLossSums sums;
    for (int64_t n = 0; n < images_; ++n)
      for (int64_t cell = 0; cell < cells_; ++cell)
        judge(x.data() + n * width_, labels.data() + 7 * n * cells_, cell, gradient_.data() + n * width_, sums);
    const double with = double(std::max<int64_t>(sums.cells, 1));
    const double without = double(std::max<int64_t>(images_ * cells_ * param_.num_object() - sums.cells, 1));
    *stage_.begin(context, io.y[0].f32(), 1) =
        float((sums.classes + sums.objects + sums.boxes) / with + sums.others / without);
    stage_.commit(context);
    if (!io.saved[0]) return;
    float* saved = saved_stage_.begin(context, static_cast<float*>(io.saved[0]), int64_t(gradient_.size()));
    for (size_t i = 0; i < gradient_.size(); ++i) saved[i] = gradient_[i] / float(images_);
    saved_stage_.commit(context);
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0]) scale_kept_gradient(context, io.saved[0], io.dy[0], io.dx[0]);
  }

  void validate(Context& context, const Operands& io) override {
    const HostView labels(context, io.x[1].f32(), io.x[1].count());
    for (int64_t n = 0; n < images_; ++n)
      for (int64_t cell = 0; cell < cells_; ++cell) {
        const float* of_image = labels.data() + 7 * n * cells_;
        if (of_image[cells_ + cell] != 0 && !is_class(of_image[2 * cells_ + cell]))
          throw Error(ExitCode::kData,
                      "the class of the object in cell " + std::to_string(cell) + " of image " + std::to_string(n) +
                          " is " + to_text(of_image[2 * cells_ + cell]),
                      "classes are numbered from 0 to " + std::to_string(int64_t(param_.num_class()) - 1));
      }
  }

  bool differentiable(int i) const override { return i == 0; }
  LayerRoles roles() override { return {.needs_host = true}; }

 private:
  static void require(uint32_t value, const std::string& name, const std::string& what) {
    if (value == 0 || value > 1 << 15)
      throw FieldError("detection_loss_param." + name, "it is " + std::to_string(value), "set " + what);
  }
  void require_values(const std::vector<Shape>& x, size_t i, int64_t planes, const std::string& what) const {
    if (x[i].axes() < 1 || x[i][0] != x[0][0] || x[i].count(1) != planes * cells_)
      throw FieldError(
          entry("bottom", int64_t(i)),
          "its shape is " + x[i].str() + ", but an image needs " + std::to_string(planes * cells_) + " values",
          "that is " + what + " for each of side x side cells");
  }
  bool is_class(float v) const { return v >= 0 && v < float(param_.num_class()) && v == std::floor(v); }
  int64_t score(int64_t k, int64_t cell) const { return (param_.num_class() + k) * cells_ + cell; }
  int64_t number(int64_t k, int64_t i, int64_t cell) const {
    return (int64_t(param_.num_class()) + param_.num_object() + 4 * k + i) * cells_ + cell;
  }

  void judge(const float* x, const float* labels, int64_t cell, float* gradient, CellLossSums& sums) const;
  Centred predicted(const float* x, int64_t k, int64_t cell) const;
  int64_t responsible(const float* x, const Centred& object, int64_t cell, float& overlap) const;

  const caffe::DetectionLossParameter& param_;
  int64_t cells_ = 0, images_ = 0, width_ = 0;
  std::vector<float> gradient_;  ///< of a sum over images
  HostStage stage_, saved_stage_;
};

/// A predicted box of a cell, relative to the image's size.
Centred GridLossLayer::predicted(const float* x, int64_t k, int64_t cell) const {
  Centred box;
  for (int64_t i = 0; i < 4; ++i) box.v[i] = x[number(k, i, cell)];
  const int64_t side = param_.side();
  if (param_.constriant()) {
    box.v[0] = (float(cell % side) + box.v[0]) / float(side);
    box.v[1] = (float(cell / side) + box.v[1]) / float(side);
  }
  if (param_.sqrt()) box.v[2] *= box.v[2], box.v[3] *= box.v[3];
  return box;
}

int64_t GridLossLayer::responsible(const float* x, const Centred& object, int64_t cell, float& overlap) const {
  int64_t nearest = 0, best = -1;
  float least = INFINITY;
  overlap = 0;
  for (int64_t k = 0; k < param_.num_object(); ++k) {
    const Centred box = predicted(x, k, cell);
    float distance = 0;
    for (int i = 0; i < 4; ++i) distance += (box.v[i] - object.v[i]) * (box.v[i] - object.v[i]);
    if (distance < least) least = distance, nearest = k;
    if (const float common = box_overlap(box.box(), object.box()); common > overlap) overlap = common, best = k;
  }
  return best >= 0 ? best : nearest;
}

void GridLossLayer::judge(const float* x, const float* labels, int64_t cell, float* gradient,
                          CellLossSums& sums) const {
  const auto pull = [&](int64_t i, float scale, float target) {
    const float d = x[i] - target;
    gradient[i] = scale * d;
    return double(scale) * double(d) * double(d);
  };
  float overlap = 0;
  int64_t chosen = -1;
  if (labels[cells_ + cell] != 0) {
    ++sums.cells;
    const float label = labels[2 * cells_ + cell];
    if (!is_class(label)) sums.classes = NAN;
    for (int64_t c = 0; c < param_.num_class(); ++c)
      sums.classes += pull(c * cells_ + cell, param_.class_scale(), label == float(c) ? 1 : 0);
    Centred object;
    std::copy_n(labels + 3 * cells_ + 4 * cell, 4, object.v);
    chosen = responsible(x, object, cell, overlap);
    const float side = float(param_.side());
    if (param_.constriant()) {
      object.v[0] = object.v[0] * side - float(cell % param_.side());
      object.v[1] = object.v[1] * side - float(cell / param_.side());
    }
    if (param_.sqrt()) object.v[2] = std::sqrt(object.v[2]), object.v[3] = std::sqrt(object.v[3]);
    for (int64_t i = 0; i < 4; ++i) sums.boxes += pull(number(chosen, i, cell), param_.coord_scale(), object.v[i]);
  }
  for (int64_t k = 0; k < param_.num_object(); ++k) {
    if (k != chosen) {
      sums.others += pull(score(k, cell), param_.noobject_scale(), 0);
      continue;
    }
    sums.objects += pull(score(k, cell), param_.object_scale(), 1);
    pull(score(k, cell), param_.object_scale(), overlap);
  }
}

}  // namespace

std::unique_ptr<Layer> make_cell_loss(const LayerOptions& options) { return std::make_unique<GridLossLayer>(options); }

}  // namespace cortado

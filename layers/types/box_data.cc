// BoxData (YOLO v1 in Caffe): images, and the cells that detect the objects in them, from a database of Datums with
// image files and boxes (data/sources/box_reader.h). The first top is images. The others are N x 7 S S, one for each
// data_param.side S (default: 7), with the labels of S x S cells, as DetectionLoss reads them:
//   S S   whether the object is difficult
//   S S   1 in the cells of objects' centres, else 0
//   S S   the object's class, else -1
//   S S x 4   its centre and sides, in fractions of the image's
// Of several objects in a cell the last counts.
//
// In training, an image shows a part of itself, resized to its size: 0.7 to 1 of both sides, with the centre of at
// least one object. Objects whose centre is outside are dropped; boxes are not clipped. transform_param transforms
// boxes with the pixels; the original mirrors only the pixels, and rounds boxes in training down to pixels.

#include <algorithm>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "data/pipeline/pipeline_options.h"
#include "layers/common/data/data_layer.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr uint32_t kBoxDataMostCells = 1024;

class BoxDataLayer : public PipelineLayer {
 public:
  explicit BoxDataLayer(const LayerOptions& options)
      : PipelineLayer(options),
        gray_(options.config.transform_param().force_gray()),
        tops_(size_t(options.config.top_size())) {
    const auto& sides = options.config.data_param().side();
    sides_.assign(sides.begin(), sides.end());
    if (sides_.empty()) sides_.push_back(7);
    for (const int64_t side : sides_)
      if (side < 1 || side > kBoxDataMostCells)
        throw FieldError("data_param.side", "it is " + std::to_string(side) + ", but must be in [1, " +
                                                std::to_string(kBoxDataMostCells) + "]");
    if (tops_ > 1 && tops_ != 1 + sides_.size())
      throw FieldError("top",
                       "there are " + std::to_string(tops_) + " tops, but side is set " +
                           count_of(int64_t(sides_.size()), "time", "times"),
                       "list the images, then one top for each side");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    LayerShapes shapes = PipelineLayer::infer(x);
    shapes.y.resize(tops_);
    for (size_t i = 1; i < tops_; ++i)
      shapes.y[i] = Shape{options().batch_size, kNumbers * sides_[i - 1] * sides_[i - 1]};
    return shapes;
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    labels_.resize(tops_);
    return {};
  }

  void forward(Context& context, const Operands& io) override {
    read(context, io.y[0], Tensor());
    for (size_t i = 1; i < tops_; ++i) {
      const int64_t count = io.y[i].shape().count(1);
      float* to = labels_[i].begin(context, io.y[i].f32(), io.y[i].count());
      for (const std::vector<data::Object>& objects : this->objects()) {
        write_cells(objects, sides_[i - 1], to);
        to += count;
      }
      labels_[i].commit(context);
    }
  }

 private:
  static constexpr int64_t kNumbers = 7;  ///< of a cell

  Shape shape_without_data() const override {
    const data::TransformPlan& plan = options().transform;
    return plan.crop_h > 0 ? Shape{options().batch_size, gray_ ? 1 : 3, plan.crop_h, plan.crop_w} : Shape{-1};
  }

  static void write_cells(const std::vector<data::Object>& objects, int64_t side, float* to) {
    const int64_t cells = side * side;
    std::fill_n(to, kNumbers * cells, 0.0f);
    std::fill_n(to + 2 * cells, cells, -1.0f);
    const auto index = [&](float at) { return int64_t(std::clamp(at * float(side), 0.0f, float(side - 1))); };
    for (const data::Object& object : objects) {
      const Box& box = object.box;
      const float numbers[] = {(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2, box_width(box), box_height(box)};
      const int64_t cell = index(numbers[1]) * side + index(numbers[0]);
      to[cell] = float(object.difficult);
      to[cells + cell] = 1;
      to[2 * cells + cell] = float(object.label);
      std::copy_n(numbers, 4, to + 3 * cells + 4 * cell);
    }
  }

  bool gray_;
  size_t tops_;
  std::vector<int64_t> sides_;
  std::vector<HostStage> labels_;  ///< per top
};

const RegisterLayer register_box_data({
    .name = "BoxData",
    .help = "images and the labels of YOLO v1's cells, from a dataset (LMDB)",
    .options = "data_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = -1,
    .make = make_layer<BoxDataLayer>,
    .kind = LayerKind::kData,
    .pipeline = data::make_box_options,
});

}  // namespace

}  // namespace cortado

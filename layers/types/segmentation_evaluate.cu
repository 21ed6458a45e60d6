// SegmentationEvaluate (MobileNet-YOLO): the IoU of segments. bottom[0] is the probabilities of C classes, as images,
// bottom[1] the true ones. y, 1 x 1 x 1 x C, is for each class the number of positions where both are above `threshold`
// divided by the number where at least one is; 0 if the class has no such position.
//
// If the image sizes differ, bottom[0] is resized to the size of bottom[1] by bilinear interpolation between pixel
// centres, as in OpenCV. MobileNet-YOLO reads only the first image of a batch, and rounds probabilities to 1/255 before
// that; here all images count. The channels are num_classes.

#include "core/error.h"
#include "core/loops/for_each.h"
#include "layers/layer.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// A position in an image of another size, along one axis: between two, the second with weight `share`.
struct SegmentationEvaluateBetween {
  int64_t first, second;
  float share;
};

CORTADO_HD SegmentationEvaluateBetween between(int64_t i, int64_t extent, int64_t from) {
  const float at = (float(i) + 0.5f) * float(from) / float(extent) - 0.5f;
  if (!(at > 0)) return {0, 0, 0};
  const int64_t first = int64_t(at);
  if (first >= from - 1) return {from - 1, from - 1, 0};
  return {first, first + 1, at - float(first)};
}

struct SegmentationEvaluateImages {
  const float* values;
  int64_t height, width;

  /// The value at a position of an image of another size.
  CORTADO_HD float at(int64_t plane, int64_t row, int64_t column, const SegmentationEvaluateImages& other) const {
    const float* image = values + plane * height * width;
    if (height == other.height && width == other.width) return image[row * width + column];
    const SegmentationEvaluateBetween r = between(row, other.height, height), c = between(column, other.width, width);
    const float above = mixed(image + r.first * width, c), below = mixed(image + r.second * width, c);
    return above + r.share * (below - above);
  }
  CORTADO_HD static float mixed(const float* row, const SegmentationEvaluateBetween& c) {
    return row[c.first] + c.share * (row[c.second] - row[c.first]);
  }
};

/// Rows: for each class the number of positions in the detected segment, in the true one, in both.
struct CountPlaces {
  SegmentationEvaluateImages found, known;
  int64_t classes;
  float threshold;
  CORTADO_HD float operator()(int64_t k, int64_t i) const {
    const int64_t c = k / 3, which = k % 3, places = known.height * known.width;
    const int64_t plane = i / places * classes + c, place = i % places;
    const bool is_known = known.values[plane * places + place] > threshold;
    if (which == 1) return is_known ? 1 : 0;
    const bool is_found = found.at(plane, place / known.width, place % known.width, known) > threshold;
    return which == 0 ? (is_found ? 1 : 0) : is_found && is_known ? 1 : 0;
  }
};

struct SegmentationEvaluateShare {
  const float* counts;
  float* y;
  CORTADO_HD void operator()(int64_t c) const {
    const float* of = counts + 3 * c;
    y[c] = of[2] > 0 ? of[2] / (of[0] + of[1] - of[2]) : 0;
  }
};

class SegmentationEvaluateLayer : public Layer {
 public:
  explicit SegmentationEvaluateLayer(const LayerOptions& options)
      : options_(options.config.segmentation_evaluate_param()) {
    if (!options_.has_num_classes())
      throw FieldError("segmentation_evaluate_param.num_classes", "num_classes is missing");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    for (int i = 0; i < 2; ++i)
      if (x[size_t(i)].axes() != 4 || x[size_t(i)][1] != int64_t(options_.num_classes()) || x[size_t(i)][0] != x[0][0])
        throw FieldError(
            "bottom[" + std::to_string(i) + "]", "its shape is " + x[size_t(i)].str(),
            "both must be N x " + std::to_string(options_.num_classes()) + " (num_classes) x H x W, with the same N");
    if (x[0].count(2) == 0 && x[1].count(2) > 0)
      throw FieldError("bottom[0]", "its shape is " + x[0].str(), "it is empty");
    return {.y = {{1, 1, 1, x[0][1]}}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.forward_scratch = 3 * int64_t(options_.num_classes()) * int64_t(sizeof(float));
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    const int64_t classes = options_.num_classes();
    float* counts = static_cast<float*>(io.scratch);
    const SegmentationEvaluateImages found = images(io.x[0]), known = images(io.x[1]);
    reduce_rows(context, 3 * classes, io.x[1].shape()[0] * known.height * known.width,
                CountPlaces{found, known, classes, options_.threshold()}, counts);
    for_each(context, classes, SegmentationEvaluateShare{counts, io.y[0].f32()});
  }

  bool differentiable(int) const override { return false; }

 private:
  static SegmentationEvaluateImages images(const Tensor& x) { return {x.f32(), x.shape()[2], x.shape()[3]}; }

  const caffe::SegmentationEvaluateParameter& options_;
};

const RegisterLayer register_segmentation_evaluate({
    .name = "SegmentationEvaluate",
    .help = "the IoU of the segments of each class",
    .options = "segmentation_evaluate_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<SegmentationEvaluateLayer>,
    .kind = LayerKind::kScore,
    .higher_is_better = true,
});

}  // namespace

}  // namespace cortado

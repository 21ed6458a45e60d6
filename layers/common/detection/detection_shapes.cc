#include "layers/common/detection/detection_shapes.h"

#include <algorithm>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/shape_rules.h"

namespace cortado {

namespace {

/// Throws FieldError unless x[i] has `count` numbers for each image.
void require_count(const std::vector<Shape>& x, int64_t i, int64_t images, int64_t count, const std::string& what) {
  const Shape& shape = x[size_t(i)];
  if (shape.axes() >= 1 && shape[0] == images && shape.count(1) == count) return;
  throw FieldError(entry("bottom", i),
                   "its shape is " + shape.str() + ", but " + std::to_string(images) + " images need " +
                       std::to_string(count) + " numbers each",
                   what);
}

}  // namespace

DetectionShapes detection_shapes(const std::vector<Shape>& x, const std::string& param, int64_t classes,
                                 bool share_location, int64_t numbers) {
  require_axes(x[0], 1);
  const Shape& priors = x[2];
  if (priors.axes() < 3 || priors[0] != 1 || priors[1] != 2 || priors.count(2) % 4 != 0)
    throw FieldError("bottom[2]", "its shape is " + priors.str() + ", but priors have 1 x 2 x (4 for each box)",
                     "use tops of PriorBox, concatenated along axis 2");
  require_extent(classes, param + ".num_classes");
  DetectionShapes shapes{x[0][0], priors.count(2) / 4, classes, share_location ? 1 : classes, numbers};
  require_extent(shapes.priors * numbers * shapes.codes, param + ".num_classes");
  const std::string of_priors = std::to_string(shapes.priors) + " priors";
  const std::string count = numbers == 4 ? "four" : std::to_string(numbers);
  require_count(x, 0, shapes.images, shapes.offsets_of_an_image(),
                share_location
                    ? count + " for each of the " + of_priors
                    : count + " for each of the " + of_priors + " and each class, as share_location is false");
  require_count(x, 1, shapes.images, shapes.priors * classes,
                "one for each of the " + of_priors + " and each of the " + std::to_string(classes) + " classes");
  return shapes;
}

void require_anchors(const std::vector<Shape>& x, int64_t i, const DetectionShapes& shapes) {
  require_count(x, i, shapes.images, 2 * shapes.priors, "two scores for each anchor: background and object");
  require_count(x, i + 1, shapes.images, 4 * shapes.priors, "four offsets for each anchor");
}

void DetectionRows::begin(Context& context, float* y, int64_t most, int64_t width) {
  width_ = width;
  first_ = next_ = stage_.begin(context, y, most * width);
  end_ = first_ + most * width;
}

void DetectionRows::add(int64_t image, int64_t label, float score, const Box& box, std::span<const float> more) {
  const float row[] = {float(image), float(label), score, box.x0, box.y0, box.x1, box.y1};
  next_ = std::copy_n(row, kDetectionWidth, next_);
  next_ = std::copy(more.begin(), more.end(), next_);
}

int64_t DetectionRows::finish(Context& context, int64_t images) {
  if (next_ == first_) {
    const std::vector<float> none(size_t(width_ - kDetectionWidth), -1.0f);
    for (int64_t image = 0; image < images; ++image) add(image, -1, -1, {-1, -1, -1, -1}, none);
  }
  std::fill(next_, end_, 0.0f);
  stage_.commit(context);
  return (next_ - first_) / width_;
}

}  // namespace cortado

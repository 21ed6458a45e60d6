// Reshape: replaces a window of axes, num_axes of them from `axis` on, by reshape_param.shape; the memory does not
// change. In the new shape 0 keeps the bottom's extent at the same index, and one -1 is inferred from the rest. A
// negative `axis` counts from the end: -1 appends axes.

#include <algorithm>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/shape_rules.h"
#include "layers/common/view_layer.h"
#include "layers/registry.h"
#include "layers/type_names.h"

namespace cortado {

namespace {

class ReshapeLayer : public ViewLayer {
 public:
  explicit ReshapeLayer(const LayerOptions& options) : param_(options.config.reshape_param()) {
    if (param_.pixelshuffler() != 1)
      throw FieldError("reshape_param.pixelshuffler", "Reshape does not move values", "use a PixelShuffle layer");
  }

  LayerShapes infer(const std::vector<Shape>& x) override;

  void check_without_shapes() const override {
    const auto& dims = param_.shape().dim();
    if (std::count(dims.begin(), dims.end(), -1) > 1)
      throw FieldError("reshape_param.shape", "two extents are -1", "set -1 only once");
  }

 private:
  struct Window {
    int begin, end;
  };
  Window window(const Shape& x) const;
  int64_t extent(int i, int begin, const Shape& x) const;

  const caffe::ReshapeParameter& param_;
};

/// The axes of x that are replaced.
ReshapeLayer::Window ReshapeLayer::window(const Shape& x) const {
  const int64_t begin = param_.axis() >= 0 ? param_.axis() : int64_t(param_.axis()) + x.axes() + 1;
  if (begin < 0 || begin > x.axes())
    throw FieldError("reshape_param.axis",
                     "axis " + std::to_string(param_.axis()) + " does not exist: bottom[0] has shape " + x.str());
  const int64_t end = param_.num_axes() == -1 ? x.axes() : begin + param_.num_axes();
  if (param_.num_axes() < -1 || end > x.axes())
    throw FieldError("reshape_param.num_axes",
                     count_of(param_.num_axes(), "axis", "axes") + " from axis " + std::to_string(begin) +
                         " on are not in bottom[0], whose shape is " + x.str(),
                     "set -1 for all axes that follow");
  return {int(begin), int(end)};
}

/// Entry i of the new shape; -1 if it is inferred.
int64_t ReshapeLayer::extent(int i, int begin, const Shape& x) const {
  const int64_t wanted = param_.shape().dim(i);
  if (wanted != -1) require_extent(wanted, "reshape_param.shape");
  if (wanted != 0) return wanted;
  if (begin + i < x.axes()) return x[begin + i];
  throw FieldError("reshape_param.shape", "entry " + std::to_string(i) + " is 0, which keeps axis " +
                                              std::to_string(begin + i) + " of bottom[0], but its shape is " + x.str());
}

LayerShapes ReshapeLayer::infer(const std::vector<Shape>& x) {
  check_without_shapes();
  const Window window = this->window(x[0]);
  const std::vector<int64_t>& old = x[0].dims();
  std::vector<int64_t> dims(old.begin(), old.begin() + window.begin);
  int open = -1;
  for (int i = 0; i < param_.shape().dim_size(); ++i) {
    const int64_t extent = this->extent(i, window.begin, x[0]);
    if (extent == -1) open = int(dims.size());
    dims.push_back(extent == -1 ? 1 : extent);
  }
  dims.insert(dims.end(), old.begin() + window.end, old.end());
  if (int(dims.size()) > Shape::kMaxAxes)
    throw FieldError("reshape_param.shape", "the new shape has " + std::to_string(dims.size()) + " axes, more than 32");

  Shape y(dims);
  const int64_t have = x[0].count(), rest = count_of_elements(y, "reshape_param.shape");
  const std::string arithmetic = "bottom[0] of shape " + x[0].str() + " has " + count_of(have, "element", "elements");
  if (open >= 0) {
    if (rest == 0 || have % rest != 0)
      throw FieldError("reshape_param.shape", arithmetic + ", which is not divisible by " + std::to_string(rest) +
                                                  ", the product of the other extents");
    y[open] = have / rest;
  } else if (rest != have) {
    throw FieldError("reshape_param.shape", arithmetic + ", the new shape " + y.str() + " has " + std::to_string(rest),
                     "set one extent to -1 to infer it");
  }
  return {.y = {y}, .w = {}};
}

const RegisterLayer register_reshape({
    .name = type_names::kReshape,
    .help = "the same elements in another shape",
    .options = "reshape_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<ReshapeLayer>,
});

}  // namespace

}  // namespace cortado

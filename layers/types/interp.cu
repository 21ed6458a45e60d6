// Interp: bilinear resizing with aligned corners (layers/common/windows/bilinear_layer.h).
//
// The size of y is height and width; or (in - 1) / shrink_factor + 1, rounded down, and of that, or of x, in + (in - 1)
// (zoom_factor - 1); or that of a second bottom, whose values are ignored. pad_beg and pad_end, never above 0, crop x
// first. Missing trailing axes of x have an extent of 1.

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/windows/bilinear_layer.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class InterpLayer : public BilinearLayer {
 public:
  explicit InterpLayer(const LayerOptions& options) : param_(options.config.interp_param()) {
    refuse_below(1, param_.shrink_factor(), "shrink_factor");
    refuse_below(1, param_.zoom_factor(), "zoom_factor");
    if (param_.has_height()) refuse_below(1, param_.height(), "height");
    if (param_.has_width()) refuse_below(1, param_.width(), "width");
    for (const bool begin : {true, false})
      if ((begin ? param_.pad_beg() : param_.pad_end()) > 0)
        throw FieldError(path(begin ? "pad_beg" : "pad_end"), "it must not be above 0: it crops x",
                         "use a Pooling or Convolution layer to pad");
    check_one_way(options.config.bottom_size() > 1);
  }

  LayerShapes infer(const std::vector<Shape>& given) override {
    std::vector<Shape> x;
    for (size_t i = 0; i < given.size(); ++i) x.push_back(of_four_axes(given[i], i));
    Shape y = x[0];
    for (const int axis : {2, 3}) {
      const BilinearSide side = seen(x[0], axis);
      y[axis] = x.size() > 1 ? x[1][axis] : resized(side.in, axis == 2 ? param_.height() : param_.width());
      BilinearSide& resampled = axis == 2 ? h_ : w_;
      resampled = {side.whole, side.start, side.in, y[axis], true};
    }
    return {.y = {y}, .w = {}};
  }

 private:
  static std::string path(const std::string& field) { return "interp_param" + (field.empty() ? "" : "." + field); }

  static void refuse_below(int64_t least, int64_t value, const std::string& field) {
    if (value < least)
      throw FieldError(path(field), field + " is " + std::to_string(value),
                       "it must be at least " + std::to_string(least));
  }

  /// Missing trailing axes have an extent of 1, as in Caffe's legacy blobs.
  static Shape of_four_axes(const Shape& shape, size_t bottom) {
    if (shape.axes() > 4)
      throw FieldError(entry("bottom", int64_t(bottom)),
                       "its shape is " + shape.str() + "; Interp needs N x C x H x W");
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    dims.resize(4, 1);
    return Shape(dims);
  }

  bool by_size() const { return param_.has_height() || param_.has_width(); }
  bool by_factors() const { return param_.has_shrink_factor() || param_.has_zoom_factor(); }

  void check_one_way(bool by_bottom) const {
    if (param_.has_height() != param_.has_width())
      throw FieldError(path(param_.has_height() ? "height" : "width"), "only one side is set", "set height and width");
    if (by_size() && by_factors())
      throw FieldError(path("height"), "height and width contradict shrink_factor and zoom_factor",
                       "remove one of the two");
    if (by_bottom && (by_size() || by_factors()))
      throw FieldError(path(by_size()                  ? "height"
                            : param_.has_zoom_factor() ? "zoom_factor"
                                                       : "shrink_factor"),
                       "the size contradicts the second bottom, which also sets it", "remove one of the two");
    if (!by_bottom && param_.use_blob_size())
      throw FieldError(path("use_blob_size"), "the second bottom, whose size it takes, is missing",
                       "add a second bottom");
    if (!by_bottom && !by_size() && !by_factors())
      throw FieldError(path(""), "the size of the top is missing",
                       "set height and width, zoom_factor or shrink_factor, or add a second bottom of that size");
  }

  /// The extent of an axis after cropping by pad_beg and pad_end.
  BilinearSide seen(const Shape& x, int axis) const {
    const int64_t in = x[axis] + param_.pad_beg() + param_.pad_end();
    if (in < 1)
      throw FieldError(param_.has_pad_beg()   ? path("pad_beg")
                       : param_.has_pad_end() ? path("pad_end")
                                              : "bottom[0]",
                       "nothing is left of axis " + std::to_string(axis) + " of bottom[0], whose shape is " + x.str());
    return {x[axis], -int64_t(param_.pad_beg()), in, 0, true};
  }

  int64_t resized(int64_t in, int64_t size) const {
    if (by_size()) return size;
    const int64_t shrunk = (in - 1) / param_.shrink_factor() + 1;
    return checked_mul(shrunk - 1, param_.zoom_factor()) + 1;
  }

  const caffe::InterpParameter& param_;
};

const RegisterLayer register_interp({
    .name = "Interp",
    .help = "bilinear resizing with aligned corners",
    .options = "interp_param",
    .min_bottoms = 1,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<InterpLayer>,
    .family = LayerFamily::kPooling,
});

}  // namespace

}  // namespace cortado

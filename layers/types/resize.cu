// Resize: bilinear resizing by a layer of several forks. Along an axis, y[i] is interpolated at i in / out of x
// (layers/common/windows/bilinear_layer.h). After the last element of x the missing neighbour counts as 0, as in these
// forks, so values fade at the bottom and the right of a magnified image.
//
// The size of y is height and width; with is_pyramid_test that of x times out_height_scale and out_width_scale, rounded
// down; with a second bottom that bottom's, whose values are ignored.

#include <cmath>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/shape_rules.h"
#include "layers/common/windows/bilinear_layer.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class ResizeLayer : public BilinearLayer {
 public:
  explicit ResizeLayer(const LayerOptions& options) : param_(options.config.resize_param()) {
    if (options.config.bottom_size() > 1) return;
    if (param_.is_pyramid_test()) {
      check_scale(param_.out_height_scale(), "out_height_scale");
      check_scale(param_.out_width_scale(), "out_width_scale");
    } else {
      check_side(param_.height(), "height");
      check_side(param_.width(), "width");
    }
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    for (size_t i = 0; i < x.size(); ++i)
      if (x[i].axes() != 4 || x[i].count() == 0)
        throw FieldError(entry("bottom", int64_t(i)), "its shape is " + x[i].str() + "; Resize needs N x C x H x W");
    Shape y = x[0];
    for (const int axis : {2, 3}) {
      y[axis] = x.size() > 1 ? x[1][axis] : resized(x[0][axis], axis == 2);
      check_side(y[axis], axis == 2 ? "out_height_scale" : "out_width_scale");
      BilinearSide& side = axis == 2 ? h_ : w_;
      side = {x[0][axis], 0, x[0][axis], y[axis], false};
    }
    return {.y = {y}, .w = {}};
  }

 private:
  static void check_side(int64_t side, const std::string& field) {
    if (side < 1)
      throw FieldError("resize_param." + field, "the top's side would be " + std::to_string(side),
                       "it must be at least 1");
    require_extent(side, "resize_param." + field);
  }
  static void check_scale(float scale, const std::string& field) {
    if (!(scale > 0) || !std::isfinite(scale))
      throw FieldError("resize_param." + field, "it is " + to_text(scale) + ", but must be above 0",
                       "with is_pyramid_test it is the size of the top divided by that of the bottom");
  }

  int64_t resized(int64_t in, bool is_height) const {
    if (!param_.is_pyramid_test()) return is_height ? param_.height() : param_.width();
    const double out = double(in) * double(is_height ? param_.out_height_scale() : param_.out_width_scale());
    return out < 1e9 ? int64_t(out) : int64_t(1e9);
  }

  const caffe::ResizeLayerParameter& param_;
};

const RegisterLayer register_resize({
    .name = "Resize",
    .help = "bilinear resizing without aligned corners",
    .options = "resize_param",
    .min_bottoms = 1,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<ResizeLayer>,
    .family = LayerFamily::kPooling,
});

}  // namespace

}  // namespace cortado

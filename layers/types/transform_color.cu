// TransformColor (Huynh's colour transform network): an affine map of the colours of each image. For the three channels
// of x, N x 3 x H x W,
//     y_c = theta_c_1 x_1 + theta_c_2 x_2 + theta_c_3 x_3 + theta_c_4
// at every position. The numbers theta are the second bottom, N x 12, without those that are set in tc_param. With
// to_compute_dU: false the image gets no gradient; in the fork it never does.

#include "core/loops/for_each.h"
#include "layers/common/loops/affine_numbers.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr int kColours = 3, kColourTerms = 4;
using ColourMap = AffineNumbers<kColours, kColourTerms>;

struct ColourForward {
  const float* x;
  float* y;
  ColourMap map;
  int64_t pixels;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t plane = i / pixels, n = plane / kColours, c = plane % kColours, p = i % pixels;
    float sum = map.at(n, int(c) * kColourTerms + kColours);
    for (int k = 0; k < kColours; ++k) sum += map.at(n, int(c) * kColourTerms + k) * x[(n * kColours + k) * pixels + p];
    y[i] = sum;
  }
};

struct ColourImageGradient {
  const float* dy;
  float* dx;
  ColourMap map;
  int64_t pixels;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t plane = i / pixels, n = plane / kColours, k = plane % kColours, p = i % pixels;
    float sum = 0;
    for (int c = 0; c < kColours; ++c)
      sum += map.at(n, c * kColourTerms + int(k)) * dy[(n * kColours + c) * pixels + p];
    dx[i] = sum;
  }
};

/// For reduce_rows: the gradient of number `row` in the bottom, over the positions.
struct ColourMapGradient {
  const float *x, *dy;
  ColourMap map;
  int64_t pixels;
  CORTADO_HD float operator()(int64_t row, int64_t p) const {
    const int64_t n = row / map.count;
    const int which = map.number_at(row % map.count), c = which / kColourTerms, k = which % kColourTerms;
    const float colour = k == kColours ? 1 : x[(n * kColours + k) * pixels + p];
    return dy[(n * kColours + c) * pixels + p] * colour;
  }
};

class TransformColorLayer : public Layer {
 public:
  explicit TransformColorLayer(const LayerOptions& options) : options_(options.config.tc_param()) {
    if (options_.transform_type() != "affine")
      throw FieldError("tc_param.transform_type", "map '" + options_.transform_type() + "' is not available",
                       "set affine");
    map_.read(options_, "tc_param");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (x[0].axes() != 4 || x[0][1] != kColours)
      throw FieldError("bottom[0]", "its shape is " + x[0].str() + ", but colours must be N x 3 x H x W");
    pixels_ = x[0].count(2);
    map_.require(x[1], x[0][0], "tc_param");
    const auto require_side = [&](const char* name, bool set, int64_t value, int64_t side) {
      if (set && value != side)
        throw FieldError(std::string("tc_param.") + name,
                         "it is " + std::to_string(value) + ", but the image has " + std::to_string(side),
                         "remove it: the layer does not change sizes");
    };
    require_side("output_H", options_.has_output_h(), options_.output_h(), x[0][2]);
    require_side("output_W", options_.has_output_w(), options_.output_w(), x[0][3]);
    return {.y = {x[0]}, .w = {}};
  }

  bool differentiable(int i) const override { return i == 1 || options_.to_compute_du(); }
  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {request.wants_dx[1], true};
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each(context, io.y[0].count(), ColourForward{io.x[0].f32(), io.y[0].f32(), map(io), pixels_});
  }

  void backward(Context& context, const Operands& io) override {
    const float* dy = io.dy[0].f32();
    if (io.dx[0]) for_each(context, io.dx[0].count(), ColourImageGradient{dy, io.dx[0].f32(), map(io), pixels_});
    if (io.dx[1])
      reduce_rows(context, io.dx[1].count(), pixels_, ColourMapGradient{io.x[0].f32(), dy, map(io), pixels_},
                  io.dx[1].f32());
  }

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>& y) const override {
    return 2 * kColours * y[0].count();
  }

 private:
  ColourMap map(const Operands& io) const {
    ColourMap made = map_;
    made.given = io.x[1].f32();
    return made;
  }

  const caffe::TransformColorParameter& options_;
  ColourMap map_;
  int64_t pixels_ = 0;
};

const RegisterLayer register_transform_color({
    .name = "TransformColor",
    .help = "maps the colours of images by affine maps",
    .options = "tc_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<TransformColorLayer>,
});

}  // namespace

}  // namespace cortado

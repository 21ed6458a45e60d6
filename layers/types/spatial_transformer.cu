// SpatialTransformer (Jaderberg et al. 2015): y samples the first bottom, N x C x H x W, by an affine map of each
// image. The numbers theta of the maps are the second bottom, N x 6. With v = 2 i / H' - 1 and u = 2 j / W' - 1 for
// position i, j of H' x W' (output_H, output_W)
//     row = H (theta_1_1 v + theta_1_2 u + theta_1_3 + 1) / 2
//     column = W (theta_2_1 v + theta_2_2 u + theta_2_3 + 1) / 2
// and y is interpolated between the four surrounding pixels, with 0 outside the image. Numbers of theta that are set in
// st_param are omitted from the bottom, which has the others in this order. With to_compute_dU: false the image gets no
// gradient.
//
// The paper does not specify the coordinates of a position. That the row comes first and that they end before 1 is
// known second hand from daerduoCarey's Caffe layer, which has these options.

#include <cmath>

#include "core/error.h"
#include "core/loops/for_each.h"
#include "core/text/text.h"
#include "layers/common/loops/affine_numbers.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct SpatialTransformerSize {
  int64_t height, width;
  CORTADO_HD int64_t pixels() const { return height * width; }
};

/// The source of each number of theta, and the planes that it applies to.
struct Map {
  AffineNumbers<2, 3> numbers;
  int64_t channels;
  SpatialTransformerSize from, to;  ///< of a plane of x, of y

  CORTADO_HD float number(int64_t n, int k) const { return numbers.at(n, k); }
  CORTADO_HD float v(int64_t place) const { return 2 * float(place / to.width) / float(to.height) - 1; }
  CORTADO_HD float u(int64_t place) const { return 2 * float(place % to.width) / float(to.width) - 1; }
  CORTADO_HD float row(int64_t n, int64_t place) const {
    const float at = number(n, 0) * v(place) + number(n, 1) * u(place) + number(n, 2);
    return (at + 1) / 2 * float(from.height);
  }
  CORTADO_HD float column(int64_t n, int64_t place) const {
    const float at = number(n, 3) * v(place) + number(n, 4) * u(place) + number(n, 5);
    return (at + 1) / 2 * float(from.width);
  }
};

/// The four pixels around a position, without those outside the image.
struct Corners {
  int64_t row, column;  ///< of the first one
  float down, right;    ///< weights of the other row and column
  SpatialTransformerSize size;
  bool sees;

  CORTADO_HD Corners(float r, float c, const SpatialTransformerSize& size) : size(size) {
    sees = r > -1 && r < float(size.height) && c > -1 && c < float(size.width);
    row = sees ? int64_t(floorf(r)) : 0, column = sees ? int64_t(floorf(c)) : 0;
    down = r - float(row), right = c - float(column);
  }
  CORTADO_HD bool inside(int64_t r, int64_t c) const {
    return sees && r >= 0 && r < size.height && c >= 0 && c < size.width;
  }
  CORTADO_HD float pixel(const float* plane, int k) const {
    const int64_t r = row + k / 2, c = column + k % 2;
    return inside(r, c) ? plane[r * size.width + c] : 0;
  }
  CORTADO_HD float share(int k) const { return (k / 2 ? down : 1 - down) * (k % 2 ? right : 1 - right); }
};

struct SpatialTransformerForward {
  const float* x;
  float* y;
  Map map;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t plane = i / map.to.pixels(), place = i - plane * map.to.pixels();
    const int64_t n = plane / map.channels;
    const float r = map.row(n, place), c = map.column(n, place);
    const Corners corners(r, c, map.from);
    float sum = r != r || c != c ? NAN : 0;
    for (int k = 0; k < 4; ++k)
      sum += corners.pixel(x + plane * map.from.pixels(), k) * (corners.sees ? corners.share(k) : 0);
    y[i] = sum;
  }
};

/// One plane per thread, because positions of y may share pixels.
struct BackwardImage {
  const float* dy;
  float* dx;
  Map map;
  CORTADO_HD void operator()(int64_t plane) const {
    const int64_t n = plane / map.channels;
    float* to = dx + plane * map.from.pixels();
    for (int64_t p = 0; p < map.from.pixels(); ++p) to[p] = 0;
    for (int64_t place = 0; place < map.to.pixels(); ++place) {
      const Corners corners(map.row(n, place), map.column(n, place), map.from);
      for (int k = 0; k < 4; ++k) {
        const int64_t r = corners.row + k / 2, c = corners.column + k % 2;
        if (corners.inside(r, c)) to[r * map.from.width + c] += dy[plane * map.to.pixels() + place] * corners.share(k);
      }
    }
  }
};

/// For reduce_rows: the gradient of number `row` in the bottom, over the positions of all channels.
struct MapGradient {
  const float *x, *dy;
  Map map;
  CORTADO_HD float operator()(int64_t number, int64_t i) const {
    const int64_t count = map.numbers.count, n = number / count;
    const int64_t plane = n * map.channels + i / map.to.pixels(), place = i % map.to.pixels();
    const int which = map.numbers.number_at(number % count);
    const Corners corners(map.row(n, place), map.column(n, place), map.from);
    if (!corners.sees) return 0;
    const float* image = x + plane * map.from.pixels();
    const float a = corners.pixel(image, 0), b = corners.pixel(image, 1), c = corners.pixel(image, 2),
                d = corners.pixel(image, 3);
    const bool moves_row = which < 3;
    const float slope = moves_row ? ((c - a) * (1 - corners.right) + (d - b) * corners.right) * float(map.from.height)
                                  : ((b - a) * (1 - corners.down) + (d - c) * corners.down) * float(map.from.width);
    const float factor = which % 3 == 0 ? map.v(place) : which % 3 == 1 ? map.u(place) : 1;
    return dy[plane * map.to.pixels() + place] * slope / 2 * factor;
  }
};

class SpatialTransformerLayer : public Layer {
 public:
  explicit SpatialTransformerLayer(const LayerOptions& options);

  LayerShapes infer(const std::vector<Shape>& x) override;
  bool differentiable(int i) const override { return i == 1 || options_.to_compute_du(); }
  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {true, true};
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each(context, io.y[0].count(), SpatialTransformerForward{io.x[0].f32(), io.y[0].f32(), map(io)});
  }

  void backward(Context& context, const Operands& io) override {
    const float *x = io.x[0].f32(), *dy = io.dy[0].f32();
    if (io.dx[0]) for_each(context, io.dx[0].shape().count(0, 2), BackwardImage{dy, io.dx[0].f32(), map(io)});
    if (io.dx[1])
      reduce_rows(context, io.dx[1].count(), channels_ * to_.pixels(), MapGradient{x, dy, map(io)}, io.dx[1].f32());
  }

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>& y) const override { return 20 * y[0].count(); }

 private:
  Map map(const Operands& io) const {
    Map made{.numbers = numbers_, .channels = channels_, .from = from_, .to = to_};
    made.numbers.given = io.x[1].f32();
    return made;
  }

  const caffe::SpatialTransformerParameter& options_;
  AffineNumbers<2, 3> numbers_;
  int64_t channels_ = 0;
  SpatialTransformerSize from_{}, to_{};
};

SpatialTransformerLayer::SpatialTransformerLayer(const LayerOptions& options) : options_(options.config.st_param()) {
  numbers_.read(options_, "st_param");
  if (options_.transform_type() != "affine")
    throw FieldError("st_param.transform_type", "map '" + options_.transform_type() + "' is not available",
                     "set affine");
  if (options_.sampler_type() != "bilinear")
    throw FieldError("st_param.sampler_type", "sampler '" + options_.sampler_type() + "' is not available",
                     "set bilinear");
}

LayerShapes SpatialTransformerLayer::infer(const std::vector<Shape>& x) {
  if (x[0].axes() != 4 || x[0].count() == 0)
    throw FieldError("bottom[0]", "its shape is " + x[0].str() + ", but images must be N x C x H x W");
  channels_ = x[0][1], from_ = to_ = {x[0][2], x[0][3]};
  numbers_.require(x[1], x[0][0], "st_param");
  const std::pair<const char*, int32_t> sides[] = {{"output_H", options_.output_h()},
                                                   {"output_W", options_.output_w()}};
  for (const auto& [name, side] : sides)
    if (side < 0) throw FieldError(std::string("st_param.") + name, "it is " + std::to_string(side));
  if (options_.output_h() > 0) to_.height = options_.output_h();
  if (options_.output_w() > 0) to_.width = options_.output_w();
  const Shape y = {x[0][0], channels_, to_.height, to_.width};
  count_of_elements(y, "st_param.output_H");
  return {.y = {y}, .w = {}};
}

const RegisterLayer register_spatial_transformer({
    .name = "SpatialTransformer",
    .help = "samples images by affine maps",
    .options = "st_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<SpatialTransformerLayer>,
});

}  // namespace

}  // namespace cortado

// PSROIPooling (R-FCN): averages of a region's parts, with separate channels for each part. Features have output_dim x
// group_size x group_size channels. y is R x output_dim x group_size x group_size for regions R x 5 (common/regions.h);
// y[r, c, i, j] is the average of channel (c, i, j) over part (i, j) of region r.
//
// A region extends from its upper left corner, rounded to pixels half away from 0, to the end of its last pixel, both
// times spatial_scale; it is at least 0.1 wide and high. A part contains all positions in the image that it touches; an
// empty part has average 0.

#include <cmath>

#include "core/error.h"
#include "core/loops/for_each.h"
#include "layers/common/detection/regions.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct PsroiPoolingGeometry {
  int64_t channels, height, width;
  int64_t group;
  float scale;
  CORTADO_HD int64_t area() const { return height * width; }
  CORTADO_HD int64_t bins() const { return group * group; }

  /// The positions of part k along an axis of `size`.
  CORTADO_HD PlaceRange part(float from, float to, int64_t k, int64_t size) const {
    const float begin = roundf(from) * scale, end = (roundf(to) + 1) * scale;
    const float step = fmaxf(end - begin, 0.1f) / float(group);
    return {limited(floorf(float(k) * step + begin), size), limited(ceilf(float(k + 1) * step + begin), size)};
  }
  CORTADO_HD static int64_t limited(float at, int64_t size) { return int64_t(fminf(fmaxf(at, 0), float(size))); }
};

/// A part of a region, and the weight of each of its positions.
struct Part {
  PlaceRange down, across;
  CORTADO_HD Part(const PsroiPoolingGeometry& at, const Box& box, int64_t bin)
      : down(at.part(box.y0, box.y1, bin / at.group, at.height)),
        across(at.part(box.x0, box.x1, bin % at.group, at.width)) {}
  CORTADO_HD float share() const {
    const int64_t high = down.end - down.begin, wide = across.end - across.begin;
    return high > 0 && wide > 0 ? 1 / float(high * wide) : 0;
  }
};

struct PsroiPoolingForward {
  const float* x;
  float* y;
  Regions regions;
  PsroiPoolingGeometry at;

  /// y[i], of region r; y has as many values per region as x has channels.
  CORTADO_HD void operator()(int64_t i, int64_t r) const {
    const int64_t image = regions.image(r), channel = i - r * at.channels;
    y[i] = NAN;
    if (image < 0) return;
    const Part part(at, regions.box(r), channel % at.bins());
    const float* plane = x + (image * at.channels + channel) * at.area();
    float sum = 0;
    for (int64_t h = part.down.begin; h < part.down.end; ++h)
      for (int64_t w = part.across.begin; w < part.across.end; ++w) sum += plane[h * at.width + w];
    y[i] = sum * part.share();
  }
};

struct PsroiPoolingAdd {
  const float* dy;
  Regions regions;
  PsroiPoolingGeometry at;
  CORTADO_HD void operator()(int64_t r, int64_t channel, float* to) const {
    const Part part(at, regions.box(r), channel % at.bins());
    const float share = part.share() * dy[r * at.channels + channel];
    for (int64_t h = part.down.begin; h < part.down.end; ++h)
      for (int64_t w = part.across.begin; w < part.across.end; ++w) to[h * at.width + w] += share;
  }
};

class PsRoiPoolingLayer : public RegionLayer {
 public:
  explicit PsRoiPoolingLayer(const LayerOptions& options) : param_(options.config.psroi_pooling_param()) {
    require_scale({param_.spatial_scale()}, "psroi_pooling_param");
    require_positive(param_.output_dim(), "output_dim", "the number of output channels");
    require_positive(param_.group_size(), "group_size", "the number of parts along each side of a region");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_regions(x);
    const int64_t group = param_.group_size();
    const Shape y = {x[1][0], param_.output_dim(), group, group};
    if (x[0][1] / group / group != y[1] || x[0][1] % (group * group) != 0)
      throw FieldError("bottom[0]",
                       "it has " + std::to_string(x[0][1]) + " channels, but output_dim is " + std::to_string(y[1]) +
                           " and group_size " + std::to_string(group),
                       "each output channel needs one for each of group_size x group_size parts");
    count_of_elements(y, "psroi_pooling_param");
    at_ = {x[0][1], x[0][2], x[0][3], group, param_.spatial_scale()};
    return {.y = {y}, .w = {}};
  }

  void forward(Context& context, const Operands& io) override {
    const Regions regions = this->regions(io);
    for_each_channel(context, {1, regions.count, at_.channels, Layout::kPlain},
                     PsroiPoolingForward{io.x[0].f32(), io.y[0].f32(), regions, at_});
  }

  void backward(Context& context, const Operands& io) override {
    if (!io.dx[0]) return;
    const Regions regions = this->regions(io);
    const PsroiPoolingAdd add{io.dy[0].f32(), regions, at_};
    for_each_channel(context, {1, regions.images * at_.channels, 1, Layout::kPlain},
                     RegionGradient<PsroiPoolingAdd>{io.dx[0].f32(), regions, at_.channels, at_.area(), add});
  }

 private:
  static void require_positive(int64_t value, const std::string& field, const std::string& what) {
    if (value <= 0)
      throw FieldError("psroi_pooling_param." + field, field + " is " + std::to_string(value), "give " + what);
  }

  const caffe::PSROIPoolingParameter& param_;
  PsroiPoolingGeometry at_ = {};
};

const RegisterLayer register_psroi_pooling({
    .name = "PSROIPooling",
    .help = "averages of the parts of regions, with separate channels for each part",
    .options = "psroi_pooling_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<PsRoiPoolingLayer>,
    .family = LayerFamily::kPooling,
});

}  // namespace

}  // namespace cortado

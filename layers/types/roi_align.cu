// ROIAlign: values at points of regions, interpolated between the four surrounding positions, without rounding.
// Features are N x C x H x W, regions R x 5 (common/regions.h). The options select one of two layers.
//
// roi_align_param selects Mask R-CNN's: y is R x C x pooled_h x pooled_w. A region is its corners times spatial_scale,
// at least 1 wide and high, and split into pooled_h x pooled_w parts. y is the average of a part's points.
// sampling_ratio is their number along each side; 0 means the part's length, rounded up. Points more than 1 outside the
// positions are 0, the others are moved to the nearest position.
//
// roi_pooling_param selects Cascade R-CNN's (MS-CNN's files): y is R x C x (pooled_h + 1) x (pooled_w + 1), the values
// at the corners of the region's parts; an average Pooling of 2 x 2 follows. Its regions may grow (pad_ratio), and
// positions are at the centres of their pixels: 0.5 is subtracted from each coordinate. Points outside all pixels are
// 0, and so are empty regions.

#include <cmath>

#include "core/error.h"
#include "core/loops/for_each.h"
#include "layers/common/detection/regions.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr int64_t kMaxPoints = 1000;  ///< along a side of a part, if sampling_ratio sets it

/// A point between two positions of an axis: the larger `to_low`, the closer to `low`.
struct RoiAlignBetween {
  int64_t low, high;
  float to_low;
  CORTADO_HD RoiAlignBetween(float at, int64_t size) {
    const float inside = fminf(fmaxf(at, 0), float(size - 1));
    low = int64_t(inside);
    high = low + 1 < size ? low + 1 : low;
    to_low = 1 - (inside - float(low));
  }
};

/// Points along an axis: first + i step, of which those from `begin` to `end` may be within the image.
struct RoiAlignPoints {
  float first, step, margin;
  int64_t size, begin, end;
  float share;  ///< weight of each in the average

  CORTADO_HD RoiAlignPoints(float start, float distance, int64_t count, float least, int64_t places)
      : first(start), step(distance), margin(least), size(places), begin(0), end(count), share(1 / float(count)) {
    if (count == 1) return;
    begin = limited((-margin - first) / step - 1, count);
    end = limited((float(size - 1) + margin - first) / step + 2, count);
  }
  CORTADO_HD float at(int64_t i) const { return first + float(i) * step; }
  CORTADO_HD bool lies(float at) const { return at >= -margin && at <= float(size - 1) + margin; }
  CORTADO_HD static int64_t limited(float at, int64_t count) { return int64_t(fminf(fmaxf(at, 0), float(count))); }
};

struct RoiAlignGeometry {
  int64_t channels, height, width;
  int64_t bins_h, bins_w;  ///< the size of y
  RegionScale scale;
  bool corners;    ///< Cascade R-CNN's variant
  int64_t points;  ///< along a side of a part; 0: from its length
  CORTADO_HD int64_t area() const { return height * width; }
  CORTADO_HD int64_t bins() const { return bins_h * bins_w; }

  /// The points of bin k along an axis of `size`.
  CORTADO_HD RoiAlignPoints along(float from, float to, int64_t k, int64_t bins, int64_t size) const {
    const float begin = from * scale.scale, length = to * scale.scale - begin;
    if (corners) {
      const float step = length / float(bins - 1);
      RoiAlignPoints one(begin - 0.5f + float(k) * step, 0, 1, 0.5f, size);
      if (!(length > 0)) one.end = 0;
      return one;
    }
    const float step = fmaxf(length, 1) / float(bins);
    const int64_t count = points > 0 ? points : int64_t(fminf(ceilf(step), 1e9f));
    const float distance = step / float(count);
    return RoiAlignPoints(begin + float(k) * step + 0.5f * distance, distance, count, 1, size);
  }
};

/// use(index in the plane, weight) for all terms of value `bin` of a region.
template <typename Use>
CORTADO_HD void each_weight(const RoiAlignGeometry& at, const Box& region, int64_t bin, const Use& use) {
  const Box box = at.scale.padded(region);
  const RoiAlignPoints down = at.along(box.y0, box.y1, bin / at.bins_w, at.bins_h, at.height);
  const RoiAlignPoints across = at.along(box.x0, box.x1, bin % at.bins_w, at.bins_w, at.width);
  for (int64_t i = down.begin; i < down.end; ++i) {
    if (!down.lies(down.at(i))) continue;
    const RoiAlignBetween h(down.at(i), at.height);
    for (int64_t j = across.begin; j < across.end; ++j) {
      if (!across.lies(across.at(j))) continue;
      const RoiAlignBetween w(across.at(j), at.width);
      const float share = down.share * across.share, upper = h.to_low * share, lower = share - upper;
      use(h.low * at.width + w.low, upper * w.to_low);
      use(h.low * at.width + w.high, upper * (1 - w.to_low));
      use(h.high * at.width + w.low, lower * w.to_low);
      use(h.high * at.width + w.high, lower * (1 - w.to_low));
    }
  }
}

struct AddValue {
  const float* plane;
  float* sum;
  CORTADO_HD void operator()(int64_t place, float weight) const { *sum += weight * plane[place]; }
};

struct AddGradient {
  float* plane;
  float dy;
  CORTADO_HD void operator()(int64_t place, float weight) const { plane[place] += weight * dy; }
};

struct RoiAlignForward {
  const float* x;
  float* y;
  Regions regions;
  RoiAlignGeometry at;

  /// y[i] of the region's channel `row`.
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const int64_t r = row / at.channels, image = regions.image(r);
    float sum = image < 0 ? NAN : 0;
    if (image >= 0) {
      const float* plane = x + (image * at.channels + row - r * at.channels) * at.area();
      each_weight(at, regions.box(r), i - row * at.bins(), AddValue{plane, &sum});
    }
    y[i] = sum;
  }
};

struct RoiAlignAdd {
  const float* dy;
  Regions regions;
  RoiAlignGeometry at;
  CORTADO_HD void operator()(int64_t r, int64_t channel, float* to) const {
    const float* from = dy + (r * at.channels + channel) * at.bins();
    for (int64_t bin = 0; bin < at.bins(); ++bin) each_weight(at, regions.box(r), bin, AddGradient{to, from[bin]});
  }
};

class RoiAlignLayer : public RegionLayer {
 public:
  explicit RoiAlignLayer(const LayerOptions& options) {
    at_.corners = options.config.has_roi_pooling_param();
    if (at_.corners && options.config.has_roi_align_param())
      throw FieldError("roi_align_param", "roi_pooling_param is set as well",
                       "set either roi_align_param (Mask R-CNN's layer) or roi_pooling_param (Cascade R-CNN's)");
    if (at_.corners)
      settle_corners(options.config.roi_pooling_param());
    else
      settle_averages(options.config.roi_align_param());
    require_scale(at_.scale, at_.corners ? "roi_pooling_param" : "roi_align_param");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_regions(x);
    at_.channels = x[0][1], at_.height = x[0][2], at_.width = x[0][3];
    const Shape y = {x[1][0], at_.channels, at_.bins_h, at_.bins_w};
    count_of_elements(y, at_.corners ? "roi_pooling_param" : "roi_align_param");
    return {.y = {y}, .w = {}};
  }

  void forward(Context& context, const Operands& io) override {
    const Regions regions = this->regions(io);
    for_each_channel(context, {1, regions.count * at_.channels, at_.bins(), Layout::kPlain},
                     RoiAlignForward{io.x[0].f32(), io.y[0].f32(), regions, at_});
  }

  void backward(Context& context, const Operands& io) override {
    if (!io.dx[0]) return;
    const Regions regions = this->regions(io);
    const RoiAlignAdd add{io.dy[0].f32(), regions, at_};
    for_each_channel(context, {1, regions.images * at_.channels, 1, Layout::kPlain},
                     RegionGradient<RoiAlignAdd>{io.dx[0].f32(), regions, at_.channels, at_.area(), add});
  }

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>& y) const override { return 8 * y[0].count(); }

 private:
  void settle_averages(const caffe::ROIAlignParameter& param) {
    at_.bins_h = parts(param.pooled_h(), "roi_align_param.pooled_h");
    at_.bins_w = parts(param.pooled_w(), "roi_align_param.pooled_w");
    at_.scale = {param.spatial_scale()};
    at_.points = param.sampling_ratio();
    if (at_.points < 0 || at_.points > kMaxPoints)
      throw FieldError(
          "roi_align_param.sampling_ratio",
          "it is " + std::to_string(at_.points) + ", but must be in [0, " + std::to_string(kMaxPoints) + "]",
          "set the number of points along each side of a part, or 0 for its size in pixels");
  }

  void settle_corners(const caffe::ROIPoolingParameter& param) {
    if (param.pooled_size_size() > 0)
      throw FieldError("roi_pooling_param.pooled_size", "it is only for ROIPooling", "set pooled_h and pooled_w");
    at_.bins_h = parts(param.pooled_h(), "roi_pooling_param.pooled_h") + 1;
    at_.bins_w = parts(param.pooled_w(), "roi_pooling_param.pooled_w") + 1;
    at_.scale = {param.spatial_scale(), param.pad_ratio()};
  }

  static int64_t parts(int64_t parts, const std::string& field) {
    if (parts == 0) throw FieldError(field, "it is 0", "set the number of parts of a region");
    require_extent(parts, field);
    return parts;
  }

  RoiAlignGeometry at_ = {};
};

const RegisterLayer register_roi_align({
    .name = "ROIAlign",
    .help = "interpolated values of the parts of regions",
    .options = "roi_align_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<RoiAlignLayer>,
});

}  // namespace

}  // namespace cortado

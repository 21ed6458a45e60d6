// ROIPooling (Fast R-CNN): the maxima of a region's pooled_h x pooled_w parts. y is R x C x pooled_h x pooled_w for
// features N x C x H x W and regions R x 5 (common/regions.h).
//
// A region's corners times spatial_scale are rounded, half away from 0, to its first and last pixels; it has at least
// one along each axis. Of L pixels part k has those from floor(k L / pooled) to ceil((k + 1) L / pooled) that are in
// the image, so parts may overlap. An empty part is 0. Of equal values the first gets the gradient.
//
// pad_ratio is MS-CNN's: before scaling, a region grows on each side by this fraction of its width or height.
// pooled_size is Intel's: one number for both axes, or height and width.

#include <cmath>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/loops/exceeds.h"
#include "core/loops/for_each.h"
#include "layers/common/detection/regions.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// The pixels along one axis of a region and of its parts.
struct Parts {
  int64_t first;
  float step;  ///< pixels of a part

  CORTADO_HD static int64_t pixel(float place) { return int64_t(roundf(fminf(fmaxf(place, -1e9f), 1e9f))); }
  CORTADO_HD static Parts of(float begin, float end, float scale, int64_t parts) {
    const int64_t first = pixel(begin * scale), length = pixel(end * scale) - first + 1;
    return {first, float(length > 1 ? length : 1) / float(parts)};
  }
  CORTADO_HD PlaceRange part(int64_t k, int64_t size) const {
    return {limited(first + int64_t(floorf(float(k) * step)), size),
            limited(first + int64_t(ceilf(float(k + 1) * step)), size)};
  }
  CORTADO_HD static int64_t limited(int64_t at, int64_t size) { return at < 0 ? 0 : at > size ? size : at; }
};

struct RoiPoolingGeometry {
  int64_t channels, height, width;
  int64_t pooled_h, pooled_w;
  RegionScale scale;
  CORTADO_HD int64_t area() const { return height * width; }
  CORTADO_HD int64_t bins() const { return pooled_h * pooled_w; }
};

struct RoiPoolingForward {
  const float* x;
  float* y;
  int32_t* places;  ///< the index in its plane, for each y; -1: empty. Null: not needed
  Regions regions;
  RoiPoolingGeometry at;

  /// y[i] of the region's channel `row`.
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const int64_t r = row / at.channels, image = regions.image(r), bin = i - row * at.bins();
    if (places) places[i] = -1;
    y[i] = NAN;
    if (image < 0) return;
    const Box box = at.scale.padded(regions.box(r));
    const PlaceRange down = Parts::of(box.y0, box.y1, at.scale.scale, at.pooled_h).part(bin / at.pooled_w, at.height);
    const PlaceRange across = Parts::of(box.x0, box.x1, at.scale.scale, at.pooled_w).part(bin % at.pooled_w, at.width);
    largest(i, x + (image * at.channels + row - r * at.channels) * at.area(), down, across);
  }

  CORTADO_HD void largest(int64_t i, const float* plane, PlaceRange down, PlaceRange across) const {
    const bool empty = down.begin >= down.end || across.begin >= across.end;
    int64_t best = empty ? -1 : down.begin * at.width + across.begin;
    for (int64_t h = down.begin; h < down.end; ++h)
      for (int64_t w = across.begin; w < across.end; ++w)
        if (exceeds(plane[h * at.width + w], plane[best])) best = h * at.width + w;
    y[i] = empty ? 0 : plane[best];
    if (places) places[i] = int32_t(best);
  }
};

struct RoiPoolingAdd {
  const float* dy;
  const int32_t* places;
  RoiPoolingGeometry at;
  CORTADO_HD void operator()(int64_t r, int64_t channel, float* to) const {
    const int64_t first = (r * at.channels + channel) * at.bins();
    for (int64_t i = first; i < first + at.bins(); ++i)
      if (places[i] >= 0) to[places[i]] += dy[i];
  }
};

class RoiPoolingLayer : public RegionLayer {
 public:
  explicit RoiPoolingLayer(const LayerOptions& options) {
    const caffe::ROIPoolingParameter& param = options.config.roi_pooling_param();
    at_.scale = {param.spatial_scale(), param.pad_ratio()};
    require_scale(at_.scale, "roi_pooling_param");
    std::tie(at_.pooled_h, at_.pooled_w) = pooled(param);
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_regions(x);
    at_.channels = x[0][1], at_.height = x[0][2], at_.width = x[0][3];
    const Shape y = {x[1][0], at_.channels, at_.pooled_h, at_.pooled_w};
    count_of_elements(y, "roi_pooling_param");
    return {.y = {y}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    LayerNeeds needs = RegionLayer::prepare(request, context);
    needs.saved = {request.backward ? request.y[0].shape.count() * int64_t(sizeof(int32_t)) : 0};
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    const Regions regions = this->regions(io);
    for_each_channel(context, {1, regions.count * at_.channels, at_.bins(), Layout::kPlain},
                     RoiPoolingForward{io.x[0].f32(), io.y[0].f32(), static_cast<int32_t*>(io.saved[0]), regions, at_});
  }

  void backward(Context& context, const Operands& io) override {
    if (!io.dx[0]) return;
    const Regions regions = this->regions(io);
    const RoiPoolingAdd add{io.dy[0].f32(), static_cast<const int32_t*>(io.saved[0]), at_};
    for_each_channel(context, {1, regions.images * at_.channels, 1, Layout::kPlain},
                     RegionGradient<RoiPoolingAdd>{io.dx[0].f32(), regions, at_.channels, at_.area(), add});
  }

 private:
  /// Height and width. Throws FieldError.
  static std::pair<int64_t, int64_t> pooled(const caffe::ROIPoolingParameter& param) {
    if (param.pooled_size_size() > 0) {
      if (param.has_pooled_h() || param.has_pooled_w() || param.pooled_size_size() > 2)
        throw FieldError("roi_pooling_param.pooled_size", "it has more than two values",
                         "set one for both axes or two, or pooled_h and pooled_w");
      const int64_t w = param.pooled_size(param.pooled_size_size() - 1);
      require_parts(param.pooled_size(0), "pooled_size");
      require_parts(w, "pooled_size");
      return {param.pooled_size(0), w};
    }
    require_parts(param.pooled_h(), "pooled_h");
    require_parts(param.pooled_w(), "pooled_w");
    return {param.pooled_h(), param.pooled_w()};
  }

  static void require_parts(int64_t parts, const std::string& field) {
    if (parts == 0)
      throw FieldError("roi_pooling_param." + field, field + " is 0", "set the number of parts of a region");
    require_extent(parts, "roi_pooling_param." + field);
  }

  RoiPoolingGeometry at_ = {};
};

const RegisterLayer register_roi_pooling({
    .name = "ROIPooling",
    .help = "the maxima of the parts of regions",
    .options = "roi_pooling_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<RoiPoolingLayer>,
    .family = LayerFamily::kPooling,
});

}  // namespace

}  // namespace cortado

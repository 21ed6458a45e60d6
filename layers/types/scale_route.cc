// ScaleRoute (Cascade R-CNN's feature pyramids): the regions of one range of sizes. Bottoms are regions R x 5
// (common/regions.h) and others with R rows, for example their labels and targets. Each top has the selected rows of
// its bottom, in order. The layer has no gradient.
//
// The size of a region is the root of its area; sides are a pixel longer than the difference of their corners. A region
// is selected if low_scale <= size < high_scale. If none is, the one whose size is nearest to the middle is, by the
// ratio of sizes: the root of low_scale high_scale if both are set, or the one that is, or 256.
//
// The number of rows depends on the values (layers/roles.h).

#include <algorithm>
#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/detection/row_copies.h"
#include "layers/registry.h"
#include "layers/roles.h"

namespace cortado {

namespace {

constexpr float kScaleRouteMiddle = 256;

class ScaleRouteLayer : public Layer, public DynamicRows {
 public:
  explicit ScaleRouteLayer(const LayerOptions& options) {
    if (options.config.bottom_size() != options.config.top_size())
      throw FieldError("top",
                       "the layer has " + count_of(options.config.bottom_size(), "bottom", "bottoms") + " and " +
                           count_of(options.config.top_size(), "top", "tops"),
                       "give each bottom one top");
    const caffe::ScaleRouteParameter& param = options.config.scale_route_param();
    const auto require = [](float value, bool right, const std::string& name, const std::string& what) {
      if (!right) throw FieldError("scale_route_param." + name, "it is " + to_text(value) + ", but must be " + what);
    };
    if (param.has_low_scale()) {
      low_ = middle_ = param.low_scale();
      require(low_, low_ > 0 && std::isfinite(low_), "low_scale", "above 0");
    }
    if (!param.has_high_scale()) return;
    high_ = param.high_scale();
    require(high_, high_ > 0 && high_ >= low_ && std::isfinite(high_), "high_scale", "above 0 and not below low_scale");
    middle_ = param.has_low_scale() ? std::sqrt(low_ * high_) : high_;
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_region_rows(x, 0);
    most_ = x;
    live_ = regions_ = x[0][0];
    return {.y = x, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    picked_.reserve(size_t(regions_));
    return {};
  }

  void forward(Context& context, const Operands& io) override {
    const HostView rows(context, io.x[0].f32(), io.x[0].count());
    pick(rows.data());
    live_ = int64_t(picked_.size());
    stages_.resize(io.y.size());
    for (size_t k = 0; k < io.y.size(); ++k) copy_rows(context, io.x[k], picked_, stages_[k], io.y[k]);
  }

  bool differentiable(int) const override { return false; }
  LayerRoles roles() override { return {.needs_host = true, .rows = this}; }
  std::vector<Shape> current_shapes() const override { return with_rows(most_, live_); }

 private:
  void pick(const float* rows) {
    picked_.clear();
    int64_t nearest = 0;
    float least = INFINITY;
    for (int64_t r = 0; r < regions_; ++r) {
      const float* row = rows + 5 * r;
      const bool is_nan = std::isnan(row[1] + row[2] + row[3] + row[4]);  // whose area would be 0
      const float size = is_nan ? NAN : std::sqrt(box_area({row[1], row[2], row[3], row[4]}, 1));
      if (size >= low_ && size < high_) picked_.push_back(r);
      const float distance = std::fabs(std::log2(size / middle_));
      if (distance < least) least = distance, nearest = r;
    }
    if (picked_.empty() && regions_ > 0) picked_.push_back(nearest);
  }

  float low_ = 0, high_ = INFINITY, middle_ = kScaleRouteMiddle;
  std::vector<Shape> most_;
  int64_t regions_ = 0, live_ = 0;
  std::vector<int64_t> picked_;
  std::vector<HostStage> stages_;
};

const RegisterLayer register_scale_route({
    .name = "ScaleRoute",
    .help = "the regions of one range of sizes (Cascade R-CNN)",
    .options = "scale_route_param",
    .min_bottoms = 1,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = -1,
    .make = make_layer<ScaleRouteLayer>,
});

}  // namespace

}  // namespace cortado

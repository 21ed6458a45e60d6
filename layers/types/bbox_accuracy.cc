// BboxAccuracy (MS-CNN): the overlap of predicted boxes with objects. Bottoms are offsets R x 4K for K classes, regions
// R x 5 (common/regions.h), and ProposalTarget's matches R x 6: the class of the region's object, its corners, and the
// overlap of both. y is the mean overlap of objects with their regions after applying the offsets of their class
// (common/box_offsets.h, normalized as in bbox_reg_param). A second top is the mean overlap with the regions
// themselves. Regions of the background (class 0) are ignored, and so are those with an overlap above 0.975, which are
// objects themselves. Without any other region y is -1.
//
// cls_aware false: offsets are for the background and for all objects. The default is true, as in MS-CNN.

#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/detection/box_offsets.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr float kBboxAccuracyIsObject = 0.975f;

class BboxAccuracyLayer : public Layer {
 public:
  explicit BboxAccuracyLayer(const LayerOptions& options)
      : scale_(offset_scale(options.config.bbox_reg_param().bbox_mean(), options.config.bbox_reg_param().bbox_std(),
                            "bbox_reg_param")),
        by_class_(!options.config.bbox_reg_param().has_cls_aware() || options.config.bbox_reg_param().cls_aware()),
        tops_(size_t(std::max(options.config.top_size(), 1))) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (x[0].axes() < 2 || x[0].count(1) % 4 != 0 || x[0].count(1) < 8)
      throw FieldError("bottom[0]", "its shape is " + x[0].str() + ", but offsets are R x 4K",
                       "each region needs four for the background and for each class");
    const int64_t widths[] = {0, 5, 6};
    for (size_t i = 1; i < 3; ++i)
      if (x[i].axes() < 2 || x[i][0] != x[0][0] || x[i].count(1) != widths[i])
        throw FieldError(
            entry("bottom", int64_t(i)),
            "its shape is " + x[i].str() + ", but must be " + std::to_string(x[0][0]) + " x " +
                std::to_string(widths[i]),
            i == 1 ? "each row is an image's index and a region" : "each row is a match of ProposalTarget");
    count_ = x[0][0], classes_ = x[0].count(1) / 4;
    return {.y = std::vector<Shape>(tops_), .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    const HostView offsets(context, io.x[0].f32(), io.x[0].count()), regions(context, io.x[1].f32(), 5 * count_);
    const HostView matches(context, io.x[2].f32(), 6 * count_);
    double after = 0, before = 0;
    int64_t counted = 0;
    for (int64_t r = 0; r < count_; ++r) {
      const float *match = matches.data() + 6 * r, *row = regions.data() + 5 * r;
      if (!(match[0] >= 1) || match[5] > kBboxAccuracyIsObject) continue;
      const Box object = {match[1], match[2], match[3], match[4]}, region = {row[1], row[2], row[3], row[4]};
      ++counted;
      before += double(box_overlap(region, object, 1));
      after += valid(match[0]) ? double(box_overlap(predicted(region, offsets.data(), r, match[0]), object, 1)) : NAN;
    }
    const double means[] = {counted > 0 ? after / double(counted) : -1, counted > 0 ? before / double(counted) : -1};
    for (size_t k = 0; k < tops_; ++k) {
      *stages_[k].begin(context, io.y[k].f32(), 1) = float(means[k]);
      stages_[k].commit(context);
    }
  }

  void validate(Context& context, const Operands& io) override {
    const HostView matches(context, io.x[2].f32(), 6 * count_);
    for (int64_t r = 0; r < count_; ++r)
      if (const float label = matches.data()[6 * r]; !valid(label))
        throw Error(ExitCode::kData, "the match of region " + std::to_string(r) + " has class " + to_text(label) +
                                         ", but bottom[0] has offsets of " + std::to_string(classes_) + " classes");
  }

  bool differentiable(int) const override { return false; }
  LayerRoles roles() override { return {.needs_host = true}; }

 private:
  bool valid(float label) const { return label >= 0 && (by_class_ ? label < float(classes_) : std::isfinite(label)); }

  Box predicted(const Box& region, const float* offsets, int64_t r, float label) const {
    const float* o = offsets + (r * classes_ + (by_class_ ? int64_t(label) : 1)) * 4;
    return moved(region, scale_.undone({o[0], o[1], o[2], o[3]}), 1, 1);
  }

  OffsetScale scale_;
  bool by_class_;
  size_t tops_;
  int64_t count_ = 0, classes_ = 0;
  HostStage stages_[2];
};

const RegisterLayer register_bbox_accuracy({
    .name = "BboxAccuracy",
    .help = "the overlap of predicted boxes with their objects",
    .options = "bbox_reg_param",
    .min_bottoms = 3,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_layer<BboxAccuracyLayer>,
    .kind = LayerKind::kScore,
    .higher_is_better = true,
});

}  // namespace

}  // namespace cortado

// BoxGroupOutput (Cascade R-CNN): the regions that branches with several templates at each position detect. Bottoms are
// pairs, one for each branch and box_group_param: the probabilities of classes N G x K x H x W, of which the first is
// the background, and offsets N G x 4 x H x W (common/template_field.h, normalized as in bbox_reg_param), for G
// templates of each of N images. Tops are regions R x 5 and, optionally, R x 6 with the score appended
// (common/region_rows.h). The layer has no gradient.
//
// The score of a box is 1 minus the probability of the background; boxes below fg_thr are dropped. The others are
// clipped to the image, which is `stride` times as large as the branch. Boxes with a side below min_size are dropped.
// Of the max_nms_num best of each image (0: all), those that overlap a better one by more than iou_thr are dropped, and
// max_post_nms_num (0: all) stay. Sides are a pixel longer than the difference of their corners. nms_type IOU divides
// the intersection by the union, IOMU by the smaller box. Of equal scores the first in the order of branches, templates
// and positions is better. NaN boxes are dropped.

#include <algorithm>
#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/detection/region_rows.h"
#include "layers/common/detection/template_group.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr float kBoxGroupBorder = 1;

std::vector<std::vector<TemplateField>> make_groups(const caffe::BoxGroupOutputParameter& param) {
  const std::string field = "box_group_output_param";
  std::vector<std::vector<TemplateField>> groups;
  for (const caffe::BoxGroupParameter& group : param.box_group_param())
    groups.push_back(template_group(group, entry(field + ".box_group_param", int64_t(groups.size())), param, field));
  return groups;
}

class BoxGroupOutputLayer : public RegionRowsLayer {
 public:
  explicit BoxGroupOutputLayer(const LayerOptions& options)
      : param_(options.config.box_group_output_param()),
        groups_(make_groups(param_)),
        scale_(offset_scale(options.config.bbox_reg_param())),
        limits_(region_limits(param_, "box_group_output_param", kBoxGroupBorder)),
        tops_(options.config.top_size()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (x.size() != 2 * groups_.size())
      throw FieldError("bottom",
                       "the layer has " + count_of(int64_t(x.size()), "bottom", "bottoms") +
                           ", but box_group_param is set " + count_of(int64_t(groups_.size()), "time", "times"),
                       "set box_group_param once for each branch, which has two bottoms");
    places_ = 0;
    for (size_t i = 0; i < groups_.size(); ++i) {
      const Shape &scores = x[2 * i], &boxes = x[2 * i + 1];
      const int64_t images = images_of_group(scores, int64_t(2 * i), int64_t(groups_[i].size()));
      if (i == 0) images_ = images;
      if (images != images_)
        throw FieldError(entry("bottom", int64_t(2 * i)), "its shape is " + scores.str() + ", of " +
                                                              std::to_string(images) + " images, but bottom[0] is of " +
                                                              std::to_string(images_));
      if (boxes != Shape{scores[0], 4, scores[2], scores[3]} || scores[1] == 0)
        throw FieldError(entry("bottom", int64_t(2 * i + 1)),
                         "its shape is " + boxes.str() + ", but the branch's scores have " + scores.str(),
                         "each position needs four numbers of a box");
      places_ += int64_t(groups_[i].size()) * scores.count(2);
    }
    rows_.reserve(limits_.most(images_, places_), tops_);
    return {.y = current_shapes(), .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    boxes_.reserve(size_t(places_));
    scores_.reserve(size_t(places_));
    return {};
  }

  void forward(Context& context, const Operands& io) override {
    std::vector<HostView> views;
    for (const Tensor& x : io.x) views.emplace_back(context, x.f32(), x.count());
    rows_.begin(context, io);
    for (int64_t n = 0; n < images_; ++n) {
      boxes_.clear(), scores_.clear();
      for (size_t i = 0; i < groups_.size(); ++i) {
        const Shape& shape = io.x[2 * i].shape();
        for (size_t k = 0; k < groups_[i].size(); ++k) {
          const int64_t plane = n * int64_t(groups_[i].size()) + int64_t(k);
          detect(groups_[i][k], views[2 * i].data() + plane * shape.count(1),
                 views[2 * i + 1].data() + plane * 4 * shape.count(2), shape[2], shape[3]);
        }
      }
      rows_.add(n, boxes_, scores_, limits_);
    }
    rows_.finish(context);
  }

  bool differentiable(int) const override { return false; }

 private:
  /// Adds the boxes of a template, all positions of an image.
  void detect(const TemplateField& field, const float* background, const float* o, int64_t height, int64_t width) {
    const int64_t apart = height * width;
    for (int64_t p = 0; p < apart; ++p, ++o) {
      const float score = 1 - background[p];
      if (!(score >= param_.fg_thr())) continue;
      const BoxOffsets offsets = scale_.undone({o[0], o[apart], o[2 * apart], o[3 * apart]});
      const Box found = field.box(field.limited(offsets), p / width, p % width);
      if (has_nan(found)) continue;
      const Box box = {std::max(found.x0, 0.0f), std::max(found.y0, 0.0f),
                       std::min(found.x1 - kBoxGroupBorder, float(width) * field.rate),
                       std::min(found.y1 - kBoxGroupBorder, float(height) * field.rate)};
      const float shorter = std::min(box_width(box, kBoxGroupBorder), box_height(box, kBoxGroupBorder));
      if (!(shorter >= param_.min_size() && shorter > 0)) continue;
      boxes_.push_back(box);
      scores_.push_back(score);
    }
  }

  const caffe::BoxGroupOutputParameter& param_;
  std::vector<std::vector<TemplateField>> groups_;
  OffsetScale scale_;
  RegionLimits limits_;
  int tops_;
  int64_t images_ = 0, places_ = 0;
  std::vector<Box> boxes_;  ///< of one image
  std::vector<float> scores_;
};

const RegisterLayer register_box_group_output({
    .name = "BoxGroupOutput",
    .help = "the regions that branches with several templates detect (Cascade R-CNN)",
    .options = "box_group_output_param",
    .min_bottoms = 2,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_layer<BoxGroupOutputLayer>,
});

}  // namespace

}  // namespace cortado

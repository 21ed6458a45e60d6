// BoxOutput (MS-CNN): the regions that several branches of a net detect. Each bottom is a branch's N x (K + 4) x H x W:
// scores of K classes, the first of which is the background, and the four numbers of a box (common/template_field.h,
// normalized as in bbox_reg_param). Tops are regions R x 5 (common/regions.h) and, optionally, R x 6 with the score
// appended. The layer has no gradient.
//
// The score of a box is its best score of an object class minus that of the background; boxes below fg_thr are dropped.
// The others are moved into the image, which is downsample_rate times as large as the branch: first the upper left
// corner, then the sides are clipped. Boxes with a side below min_size are dropped. Of the max_nms_num best of each
// image (0: all), those that overlap a better one by more than iou_thr are dropped, and max_post_nms_num (0: all) stay.
// nms_type IOU divides the intersection by the union, IOMU by the smaller box. Of equal scores the first in the order
// of branches and positions is better; MS-CNN takes the last.
//
// NaN boxes are dropped. common/region_rows.h describes the rows.

#include <algorithm>
#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/detection/region_rows.h"
#include "layers/common/detection/template_field.h"
#include "layers/registry.h"

namespace cortado {

namespace {

using BoxOutputParam = caffe::BoxOutputParameter;

/// The templates of all branches.
std::vector<TemplateField> make_fields(const BoxOutputParam& param) {
  const auto require_as_many = [&](int count, const std::string& field) {
    if (count != param.field_w_size())
      throw FieldError("box_output_param." + field,
                       "it is set " + count_of(count, "time", "times") + ", but field_w " +
                           count_of(param.field_w_size(), "time", "times"),
                       "set field_w, field_h and downsample_rate once for each bottom");
  };
  require_as_many(param.field_h_size(), "field_h");
  require_as_many(param.downsample_rate_size(), "downsample_rate");
  std::vector<TemplateField> fields;
  for (int i = 0; i < param.field_w_size(); ++i) {
    fields.push_back({float(param.field_w(i)), float(param.field_h(i)), float(param.downsample_rate(i)),
                      param.field_whr(), param.field_xyr()});
    fields.back().check("box_output_param");
  }
  return fields;
}

class BoxOutputLayer : public RegionRowsLayer {
 public:
  explicit BoxOutputLayer(const LayerOptions& options)
      : param_(options.config.box_output_param()),
        fields_(make_fields(param_)),
        scale_(offset_scale(options.config.bbox_reg_param().bbox_mean(), options.config.bbox_reg_param().bbox_std(),
                            "bbox_reg_param")),
        limits_(region_limits(param_, "box_output_param", 0)),
        tops_(options.config.top_size()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (x.size() != fields_.size())
      throw FieldError("bottom",
                       "the layer has " + count_of(int64_t(x.size()), "bottom", "bottoms") + ", but field_w is set " +
                           count_of(int64_t(fields_.size()), "time", "times"),
                       "set field_w once for each bottom, a branch with its templates");
    places_ = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i].axes() != 4 || x[i][0] != x[0][0] || x[i][1] != x[0][1] || x[i][1] < 6)
        throw FieldError(entry("bottom", int64_t(i)),
                         "its shape is " + x[i].str() + ", but branches must be N x (K + 4) x H x W",
                         "all branches need the same images and classes: the background and at least one other");
      places_ += x[i].count(2);
    }
    images_ = x[0][0], channels_ = x[0][1];
    rows_.reserve(limits_.most(images_, places_), tops_);
    return {.y = current_shapes(), .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    boxes_.resize(size_t(places_));
    scores_.resize(size_t(places_));
    return {};
  }

  void forward(Context& context, const Operands& io) override {
    std::vector<HostView> branches;
    for (const Tensor& x : io.x) branches.emplace_back(context, x.f32(), x.count());
    rows_.begin(context, io);
    for (int64_t n = 0; n < images_; ++n) {
      int64_t place = 0;
      for (size_t i = 0; i < fields_.size(); ++i) {
        const Shape& shape = io.x[i].shape();
        detect(fields_[i], branches[i].data() + n * shape.count(1), shape[2], shape[3], place);
        place += shape.count(2);
      }
      rows_.add(n, boxes_, scores_, limits_);
    }
    rows_.finish(context);
  }

  bool differentiable(int) const override { return false; }

 private:
  /// The boxes and scores of a branch for one image, from index `first` on.
  void detect(const TemplateField& field, const float* x, int64_t height, int64_t width, int64_t first) {
    const int64_t places = height * width, classes = channels_ - 4;
    for (int64_t p = 0; p < places; ++p) {
      float score = x[places + p];
      for (int64_t c = 2; c < classes; ++c) score = std::max(score, x[c * places + p]);
      score -= x[p];
      const float* o = x + classes * places + p;
      const BoxOffsets offsets = scale_.undone({o[0], o[places], o[2 * places], o[3 * places]});
      Box box = field.box(field.limited(offsets), p / width, p % width);
      const bool number = !has_nan(box);
      box = within(box, float(width) * field.rate, float(height) * field.rate);
      const bool kept = number && score >= param_.fg_thr() && box_width(box) >= param_.min_size() &&
                        box_height(box) >= param_.min_size();
      boxes_[size_t(first + p)] = box;
      scores_[size_t(first + p)] = kept ? score : -INFINITY;
    }
  }

  /// Moves a box into an image of that size and clips it.
  static Box within(const Box& box, float width, float height) {
    const float x = std::max(box.x0, 0.0f), y = std::max(box.y0, 0.0f);
    return {x, y, x + std::min(box_width(box), width - x), y + std::min(box_height(box), height - y)};
  }

  const BoxOutputParam& param_;
  std::vector<TemplateField> fields_;
  OffsetScale scale_;
  RegionLimits limits_;
  int tops_;
  int64_t images_ = 0, channels_ = 0, places_ = 0;
  std::vector<Box> boxes_;     ///< of one image, branch by branch
  std::vector<float> scores_;  ///< -infinity: dropped
};

const RegisterLayer register_box_output({
    .name = "BoxOutput",
    .help = "the regions that several branches detect",
    .options = "box_output_param",
    .min_bottoms = 1,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_layer<BoxOutputLayer>,
});

}  // namespace

}  // namespace cortado

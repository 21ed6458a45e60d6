// Proposal (Faster R-CNN): the regions of images that are likely to hold objects. Bottoms are scores N x 2A x H x W, of
// which the last A are those of objects, offsets N x 4A x H x W, and N rows of im_info: height and width of the image
// in pixels, and its scale, or one for height and one for width (PVANet). Tops are regions R x 5 (common/regions.h)
// and, optionally, their scores R. The layer has no gradient.
//
// Position (h, w) has all anchors (common/detection/proposal_anchors.h), shifted by feat_stride per step. A region
// is an anchor moved by its offsets (common/box_offsets.h) and clipped to the image; its sides are a pixel longer than
// the difference of its corners. Regions with a side shorter than min_size times the image's scale are dropped. The
// pre_nms_topn best by score remain; NMS drops those that overlap a better one by more than nms_thresh, and the
// post_nms_topn best are kept (0 means all). Ties are broken by order: positions first, then anchors. Unlike the
// original, it supports several images per batch; their regions follow in image order.
//
// The number of regions depends on the values (layers/roles.h). A region with NaN coordinates is dropped.

#include <algorithm>
#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/detection/box_offsets.h"
#include "layers/common/detection/proposal_anchors.h"
#include "layers/common/detection/suppression.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"
#include "layers/roles.h"

namespace cortado {

namespace {

using ProposalParam = caffe::ProposalParameter;

/// The im_info of an image.
struct ImageInfo {
  float height, width, scale_h, scale_w;
  bool valid() const {
    return height > 0 && width > 0 && scale_h >= 0 && scale_w >= 0 && std::isfinite(height + width + scale_h + scale_w);
  }
};

class ProposalLayer : public Layer, public DynamicRows {
 public:
  explicit ProposalLayer(const LayerOptions& options)
      : param_(options.config.proposal_param()), anchors_(proposal_anchors(param_)), tops_(options.config.top_size()) {
    require_positive(param_.feat_stride(), "feat_stride", "the number of pixels between two positions");
    require_positive(param_.base_size(), "base_size", "the side of the base anchor");
    if (!(param_.nms_thresh() >= 0))
      throw FieldError("proposal_param.nms_thresh",
                       "it is " + to_text(param_.nms_thresh()) + ", but must be at least 0",
                       "set the largest overlap of a region with a better one");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    const int64_t count = int64_t(anchors_.size());
    require_channels(x, 0, 2 * count, "two scores for each of " + std::to_string(count) + " anchors");
    require_channels(x, 1, 4 * count, "four offsets for each of " + std::to_string(count) + " anchors");
    if (x[1][0] != x[0][0] || x[1][2] != x[0][2] || x[1][3] != x[0][3])
      throw FieldError("bottom[1]", "its shape is " + x[1].str() + ", but bottom[0] has " + x[0].str(),
                       "scores and offsets must have the same positions");
    images_ = x[0][0], height_ = x[0][2], width_ = x[0][3];
    info_ = images_ > 0 && x[2].count() % images_ == 0 ? x[2].count() / images_ : 0;
    if (images_ > 0 && info_ < 3)
      throw FieldError("bottom[2]",
                       "its shape is " + x[2].str() + ", but there are " + count_of(images_, "image", "images"),
                       "set one row of height, width and scale for each image");
    const int64_t all = checked_mul(height_ * width_, count), wanted = param_.post_nms_topn();
    most_ = checked_mul(images_, wanted > 0 ? std::min(wanted, all) : all);
    live_ = most_;
    return {.y = current_shapes(), .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    boxes_.resize(size_t(height_ * width_) * anchors_.size());
    scores_.resize(boxes_.size());
    return {};
  }

  void forward(Context& context, const Operands& io) override;
  void validate(Context& context, const Operands& io) override;

  bool differentiable(int) const override { return false; }
  LayerRoles roles() override { return {.needs_host = true, .rows = this}; }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 10 * x[0].count(); }

  std::vector<Shape> current_shapes() const override {
    if (tops_ > 1) return {{live_, 5}, {live_}};
    return {{live_, 5}};
  }

 private:
  static void require_positive(int64_t value, const std::string& field, const std::string& what) {
    if (value == 0) throw FieldError("proposal_param." + field, field + " is 0", "set " + what);
  }

  static void require_channels(const std::vector<Shape>& x, size_t i, int64_t channels, const std::string& what) {
    if (x[i].axes() != 4 || x[i][1] != channels)
      throw FieldError(entry("bottom", int64_t(i)),
                       "its shape is " + x[i].str() + ", but must be N x " + std::to_string(channels) + " x H x W",
                       "set " + what + ", one for each pair of ratio and scale");
  }

  ImageInfo info(const float* rows, int64_t image) const {
    const float* row = rows + image * info_;
    return {row[0], row[1], row[2], row[info_ > 3 ? 3 : 2]};
  }
  void find_regions(const float* scores, const float* offsets, const ImageInfo& image);
  Box region(const Box& anchor, const float* offsets, int64_t h, int64_t w) const;

  const ProposalParam& param_;
  std::vector<Box> anchors_;
  int tops_;
  int64_t images_ = 0, height_ = 0, width_ = 0, info_ = 0, most_ = 0, live_ = 0;
  std::vector<Box> boxes_;     ///< of one image, by position, then by anchor
  std::vector<float> scores_;  ///< -infinity if dropped
  HostStage region_stage_, score_stage_;
};

/// The region of an anchor at position (h, w); its offsets have a stride of height_ width_.
Box ProposalLayer::region(const Box& anchor, const float* offsets, int64_t h, int64_t w) const {
  const float dx = float(w * param_.feat_stride()), dy = float(h * param_.feat_stride());
  const int64_t apart = height_ * width_;
  return moved({anchor.x0 + dx, anchor.y0 + dy, anchor.x1 + dx, anchor.y1 + dy},
               {offsets[0], offsets[apart], offsets[2 * apart], offsets[3 * apart]}, 1, 0);
}

void ProposalLayer::find_regions(const float* scores, const float* offsets, const ImageInfo& image) {
  const int64_t places = height_ * width_, count = int64_t(anchors_.size());
  const float min_w = float(param_.min_size()) * image.scale_w, min_h = float(param_.min_size()) * image.scale_h;
  for (int64_t place = 0; place < places; ++place)
    for (int64_t a = 0; a < count; ++a) {
      const size_t k = size_t(place * count + a);
      const Box box = region(anchors_[size_t(a)], offsets + 4 * a * places + place, place / width_, place % width_);
      boxes_[k] = clipped(box, image.width - 1, image.height - 1);
      const bool kept =
          image.valid() && !has_nan(box) && box_width(boxes_[k], 1) >= min_w && box_height(boxes_[k], 1) >= min_h;
      scores_[k] = kept ? scores[a * places + place] : -INFINITY;
    }
}

void ProposalLayer::forward(Context& context, const Operands& io) {
  const HostView scores(context, io.x[0].f32(), io.x[0].count()), moves(context, io.x[1].f32(), io.x[1].count());
  const HostView infos(context, io.x[2].f32(), io.x[2].count());
  float* rows = region_stage_.begin(context, io.y[0].f32(), 5 * most_);
  float* kept_scores = tops_ > 1 ? score_stage_.begin(context, io.y[1].f32(), most_) : nullptr;
  const int64_t size = int64_t(boxes_.size()), before = param_.pre_nms_topn(), after = param_.post_nms_topn();
  const SuppressionRule rule = {.threshold = param_.nms_thresh(), .border = 1, .most = after > 0 ? after : -1};
  live_ = 0;
  for (int64_t n = 0; n < images_; ++n) {
    find_regions(scores.data() + (2 * n + 1) * size, moves.data() + 4 * n * size, info(infos.data(), n));
    const std::vector<int> order = best_first(scores_.data(), size, -INFINITY, before > 0 ? before : -1);
    for (const int k : suppress(boxes_.data(), order, rule)) {
      const Box& box = boxes_[size_t(k)];
      const float row[5] = {float(n), box.x0, box.y0, box.x1, box.y1};
      std::copy_n(row, 5, rows + 5 * live_);
      if (kept_scores) kept_scores[live_] = scores_[size_t(k)];
      ++live_;
    }
  }
  std::fill(rows + 5 * live_, rows + 5 * most_, 0.0f);
  region_stage_.commit(context);
  if (!kept_scores) return;
  std::fill(kept_scores + live_, kept_scores + most_, 0.0f);
  score_stage_.commit(context);
}

void ProposalLayer::validate(Context& context, const Operands& io) {
  const HostView infos(context, io.x[2].f32(), io.x[2].count());
  for (int64_t n = 0; n < images_; ++n)
    if (const ImageInfo image = info(infos.data(), n); !image.valid())
      throw Error(ExitCode::kData,
                  "image " + std::to_string(n) + " is " + to_text(image.width) + " wide and " + to_text(image.height) +
                      " high, of scale " + to_text(image.scale_h),
                  "set a row of height, width and scale in bottom[2] for each image");
}

const RegisterLayer register_proposal({
    .name = "Proposal",
    .help = "regions that may hold objects, from scores and offsets of anchors",
    .options = "proposal_param",
    .min_bottoms = 3,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_layer<ProposalLayer>,
});

}  // namespace

}  // namespace cortado

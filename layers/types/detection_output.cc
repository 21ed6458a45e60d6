// DetectionOutput: SSD's detections, one per row: image, label, score, and the corners of the box, relative to the
// image's size. There are P boxes from priors (bottom[2]) and offsets (bottom[0], N x 4 P, or 4 P for each class).
// Those with a score (bottom[1], N x P classes, already a probability) above confidence_threshold are suppressed class
// by class; the keep_top_k best of all classes stay. Rows are sorted by image, then label, then score. An image without
// detections has no row. If no image has any, y is one row for each image: its index, then values of -1.
//
// RefineDet's five bottoms: bottom[3], N x 2 P, is the objectness of priors (those not above objectness_score are
// dropped), and bottom[4], N x 4 P, is offsets applied to priors before those of bottom[0].
//
// TextBoxes++'s use_polygon (Liao et al. 2018): each box has 12 offsets. The first four are those of its rectangle,
// which is suppressed as above. Pairs of x and y of the four corners follow, from the upper left one clockwise:
// corner = corner of the prior + variance offset side of the prior, with the variances of the centre. Rows have eight
// more numbers, the corners.
//
// The number of rows depends on the values (layers/roles.h); they are computed on the host.

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <optional>
#include <vector>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/log.h"
#include "core/text/text.h"
#include "core/threads/threads.h"
#include "layers/common/detection/box_coding.h"
#include "layers/common/detection/detection_shapes.h"
#include "layers/common/detection/suppression.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"
#include "layers/roles.h"
#include "layers/type_names.h"

namespace cortado {

namespace {

constexpr int64_t kCornerNumbers = 8;
using Corners = std::array<float, kCornerNumbers>;

struct Detection {
  int label;
  float score;
  Box box;
  Corners corners = {};
};
using Detections = std::vector<Detection>;  ///< of one image

class DetectionOutputLayer : public Layer, public DynamicRows {
 public:
  explicit DetectionOutputLayer(const LayerOptions& options)
      : param_(options.config.detection_output_param()),
        code_{param_.code_type(), !param_.variance_encoded_in_target()} {
    check_options();
    const caffe::NonMaximumSuppressionParameter& nms = param_.nms_param();
    rule_ = {.threshold = nms.nms_threshold(), .eta = nms.eta()};
    looked_at_ = nms.has_top_k() ? nms.top_k() : -1;
    least_ = param_.has_confidence_threshold() ? param_.confidence_threshold() : -FLT_MAX;
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    shapes_ = detection_shapes(x, "detection_output_param", param_.num_classes(), param_.share_location(),
                               corners() ? 4 + kCornerNumbers : 4);
    if (x.size() == 4)
      throw FieldError("bottom[3]", "it has four bottoms",
                       "use three, or five for RefineDet: scores and offsets of its anchors");
    if (x.size() == 5 && corners())
      throw FieldError("detection_output_param.use_polygon", "boxes with four corners have three bottoms");
    if (x.size() == 5) require_anchors(x, 3, shapes_);
    const int64_t of_an_image =
        param_.keep_top_k() >= 0 ? std::min<int64_t>(param_.keep_top_k(), candidates()) : candidates();
    most_ = std::max<int64_t>(1, of_an_image) * shapes_.images;
    require_extent(most_, "detection_output_param.keep_top_k");
    live_ = most_;
    return {.y = {Shape{1, 1, most_, width()}}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    if (!param_.save_output_param().output_directory().empty())
      log_warning() << "DetectionOutput does not write files; ignoring output_directory '"
                    << param_.save_output_param().output_directory() << "'";
    found_.resize(size_t(shapes_.images));
    return {};
  }

  void forward(Context& context, const Operands& io) override {
    const HostView offsets(context, io.x[0].f32(), io.x[0].count()), scores(context, io.x[1].f32(), io.x[1].count()),
        priors(context, io.x[2].f32(), io.x[2].count());
    std::optional<HostView> objectness, moves;
    if (io.x.size() == 5) {
      objectness.emplace(context, io.x[3].f32(), io.x[3].count());
      moves.emplace(context, io.x[4].f32(), io.x[4].count());
    }
    parallel_ranges(context, shapes_.images, 1, [&](int64_t begin, int64_t end) {
      for (int64_t image = begin; image < end; ++image)
        detect({offsets.data() + image * shapes_.offsets_of_an_image(),
                scores.data() + image * candidates(),
                objectness ? objectness->data() + image * 2 * shapes_.priors : nullptr,
                moves ? moves->data() + image * 4 * shapes_.priors : nullptr,
                {priors.data(), shapes_.priors}},
               found_[size_t(image)]);
    });
    write(context, io.y[0].f32());
  }

  bool differentiable(int) const override { return false; }
  LayerRoles roles() override { return {.needs_host = true, .rows = this}; }
  std::vector<Shape> current_shapes() const override { return {Shape{1, 1, live_, width()}}; }

 private:
  /// The scores and boxes of one image.
  struct Evidence {
    const float *offsets, *scores, *objectness, *moves;
    Priors priors;
  };

  void check_options() const {
    if (param_.num_classes() == 0)
      throw FieldError("detection_output_param.num_classes", "it is not set",
                       "set the number of classes, including the background");
    const caffe::NonMaximumSuppressionParameter& nms = param_.nms_param();
    if (!(nms.nms_threshold() >= 0))
      throw FieldError("detection_output_param.nms_param.nms_threshold",
                       "it is " + to_text(nms.nms_threshold()) + ", but must not be below 0");
    if (!(nms.eta() > 0 && nms.eta() <= 1))
      throw FieldError("detection_output_param.nms_param.eta",
                       "it is " + to_text(nms.eta()) + ", but must be in (0, 1]");
    if (nms.soft_nms())
      throw FieldError("detection_output_param.nms_param.soft_nms", "soft suppression is not available", "remove it");
    if (corners() && param_.code_type() != caffe::PriorBoxParameter::CENTER_SIZE)
      throw FieldError("detection_output_param.code_type", "boxes with four corners need CENTER_SIZE",
                       "set code_type: CENTER_SIZE");
  }

  bool corners() const { return param_.use_polygon(); }
  int64_t width() const { return kDetectionWidth + (corners() ? kCornerNumbers : 0); }

  int64_t candidates() const { return shapes_.priors * shapes_.classes; }

  void detect(const Evidence& evidence, Detections& found) const {
    found.clear();
    std::vector<Box> boxes(static_cast<size_t>(shapes_.priors));
    if (shapes_.codes == 1) decode(evidence, 0, boxes);
    std::vector<float> scores(static_cast<size_t>(shapes_.priors));
    for (int64_t c = 0; c < shapes_.classes; ++c) {
      if (c == param_.background_label_id()) continue;
      for (int64_t p = 0; p < shapes_.priors; ++p) scores[size_t(p)] = score(evidence, p, c);
      const std::vector<int> order = best_first(scores.data(), shapes_.priors, least_, looked_at_);
      if (order.empty()) continue;
      if (shapes_.codes > 1) decode(evidence, c, boxes);
      for (const int p : suppress(boxes.data(), order, rule_))
        found.push_back(
            {int(c), scores[size_t(p)], boxes[size_t(p)], corners() ? decode_corners(evidence, p, c) : Corners()});
    }
    keep_best(found);
  }

  float score(const Evidence& evidence, int64_t p, int64_t c) const {
    const bool empty = evidence.objectness && !(evidence.objectness[2 * p + 1] >= param_.objectness_score());
    return empty ? -FLT_MAX : evidence.scores[p * shapes_.classes + c];
  }

  /// The first offset of a box.
  int64_t at(int64_t p, int64_t c) const { return shapes_.numbers * (p * shapes_.codes + (shapes_.codes > 1 ? c : 0)); }

  Corners decode_corners(const Evidence& evidence, int64_t p, int64_t c) const {
    const Box prior = evidence.priors.box(p);
    const PriorOffsets variances = evidence.priors.variances(p);
    const float sides[] = {box_width(prior), box_height(prior)};
    Corners corners = {prior.x0, prior.y0, prior.x1, prior.y0, prior.x1, prior.y1, prior.x0, prior.y1};
    const float* offsets = evidence.offsets + at(p, c) + 4;
    for (size_t k = 0; k < corners.size(); ++k)
      corners[k] += offsets[k] * sides[k % 2] * (code_.divides ? variances.v[k % 2] : 1);
    return corners;
  }

  void decode(const Evidence& evidence, int64_t c, std::vector<Box>& boxes) const {
    for (int64_t p = 0; p < shapes_.priors; ++p) {
      const PriorOffsets variances = evidence.priors.variances(p);
      Box prior = evidence.priors.box(p);
      if (evidence.moves) prior = code_.decode(prior, variances, offsets_at(evidence.moves + 4 * p));
      const Box box = code_.decode(prior, variances, offsets_at(evidence.offsets + at(p, c)));
      boxes[size_t(p)] = param_.clip() ? clipped(box) : box;
    }
  }

  /// The keep_top_k best, in their order by label and score.
  void keep_best(Detections& found) const {
    const int64_t most = param_.keep_top_k();
    if (most < 0 || int64_t(found.size()) <= most) return;
    std::vector<float> scores;
    for (const Detection& one : found) scores.push_back(one.score);
    std::vector<int> best = best_first(scores.data(), int64_t(scores.size()), -INFINITY, most);
    std::sort(best.begin(), best.end());
    Detections kept;
    for (const int i : best) kept.push_back(found[size_t(i)]);
    found = std::move(kept);
  }

  void write(Context& context, float* y) {
    rows_.begin(context, y, most_, width());
    for (size_t image = 0; image < found_.size(); ++image)
      for (const Detection& one : found_[image])
        rows_.add(int64_t(image), one.label, one.score, one.box,
                  corners() ? std::span<const float>(one.corners) : std::span<const float>());
    live_ = rows_.finish(context, shapes_.images);
  }

  const caffe::DetectionOutputParameter& param_;
  BoxCode code_;
  SuppressionRule rule_;
  int64_t looked_at_ = -1;  ///< per class, the best ones
  float least_ = 0;
  DetectionShapes shapes_;
  int64_t most_ = 0, live_ = 0;  ///< rows
  std::vector<Detections> found_;
  DetectionRows rows_;
};

const RegisterLayer register_detection_output({
    .name = type_names::kDetectionOutput,
    .help = "boxes of objects from priors, offsets and scores (SSD); with four corners (TextBoxes++)",
    .options = "detection_output_param",
    .min_bottoms = 3,
    .max_bottoms = 5,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<DetectionOutputLayer>,
    .family = LayerFamily::kScore,
});

}  // namespace

}  // namespace cortado

// MS-CNN's DetectionLoss. Bottoms are a branch N x (K + 4) x H x W, the scores of K classes and boxes encoded as in
// common/template_field.h, and labels (common/branch_labels.h). y, 1 x 1 x 1 x 2, is c + lambda b and lambda b:
//   c  the mean of -w log(max(p, FLT_MIN)) over all positions with objects and the selected background positions, p
//   being
//      the softmax of the label's score
//   b  the mean of f(t - g) over the four numbers t of all positions with objects, g being those of their object and
//      t limited, both normalized as in bbox_reg_param. f(d) = d^2 / 2, with bb_smooth only if |d| < 1, else |d| - 1/2
// Background positions may be selected if they overlap objects by less than bg_threshold. For each image bg_mode
//   random     draws max(bg_multiple objects, 4 (K - 1)) positions, with repetition, and selects those that may be
//   bootstrap  selects for each class k the max(bg_multiple objects of k, 4) positions with the best scores of k
//   mixture    does both, with half of bg_multiple
// w = 1. With pos_neg_weighted and at least one object, the total weight of objects is 1 / (1 + bg_multiple), that of
// the background the rest. Positions with loss_param.ignore_label are ignored; other fields of loss_param are not read.
//
// As in MS-CNN, dx is that of the first value only: the second one is for display. Beyond the limits of t the gradient
// is that at the limit. An invalid label makes y NaN.
//
// The selection runs on the host, which computes dx / dy at the same time.

#include "layers/types/branch_loss.h"

#include <algorithm>
#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/text/text.h"
#include "layers/common/detection/template_field.h"
#include "layers/common/detection/template_loss.h"
#include "layers/common/losses/branch_labels.h"
#include "layers/common/weights/kept_gradient.h"

namespace cortado {

namespace {

constexpr float kMaxMultiple = 1000;

/// Sums of losses and their counts.
struct BranchLossSums {
  double classes = 0, boxes = 0;
  int64_t places = 0, numbers = 0;
};

class BranchLossLayer : public Layer {
 public:
  explicit BranchLossLayer(const LayerOptions& options);

  LayerShapes infer(const std::vector<Shape>& x) override {
    labels_ = branch_labels(x[0], x[1], param_.cls_num(), param_.coord_num(), loss_, "detection_loss_param");
    width_ = x[0][3], channels_ = x[0][1];
    return {.y = {{1, 1, 1, 2}}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    layer_seed_ = request.layer_seed;
    chosen_.resize(size_t(labels_.places));
    order_.reserve(size_t(labels_.places));
    gradient_.resize(size_t(request.x[0].shape.count()));
    weights_.resize(size_t(labels_.images * labels_.places));
    LayerNeeds needs;
    needs.saved = {request.backward ? request.x[0].shape.count() * int64_t(sizeof(float)) : 0};
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    const HostView x(context, io.x[0].f32(), io.x[0].count()), values(context, io.x[1].f32(), io.x[1].count());
    labels_.values = values.data();
    choose(context, x.data());
    std::fill(gradient_.begin(), gradient_.end(), 0.0f);
    BranchLossSums sums;
    for (int64_t n = 0; n < labels_.images; ++n)
      for (int64_t p = 0; p < labels_.places; ++p) judge(x.data(), n, p, sums);
    const float of_class = sums.places > 0 ? 1 / float(sums.places) : 0;
    const float of_box = sums.numbers > 0 ? param_.lambda() / float(sums.numbers) : 0;
    float* y = stage_.begin(context, io.y[0].f32(), 2);
    y[1] = float(sums.boxes) * of_box;
    y[0] = float(sums.classes) * of_class + y[1];
    stage_.commit(context);
    if (io.saved[0]) save_gradient(context, static_cast<float*>(io.saved[0]), of_class, of_box);
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0]) scale_kept_gradient(context, io.saved[0], io.dy[0], io.dx[0]);
  }

  void validate(Context& context, const Operands& io) override { validate_branch_labels(context, io.x[1], labels_); }
  bool differentiable(int i) const override { return i == 0; }
  LayerRoles roles() override { return {.needs_host = true}; }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 5 * x[0].count(); }

 private:
  bool background(int64_t n, int64_t p) const {
    return labels_.counts(n, p) && labels_.label(n, p) == 0 && labels_.overlap(n, p) < param_.bg_threshold();
  }
  /// The index of element `channel` of a position.
  size_t at(int64_t n, int64_t channel, int64_t p) const {
    return size_t((n * channels_ + channel) * labels_.places + p);
  }
  float multiple() const { return param_.bg_multiple() * (param_.sample_mode() == "mixture" ? 0.5f : 1.0f); }

  void choose(Context& context, const float* x);
  void draw(Context& context, int64_t n, int64_t objects);
  void take_worst(const float* x, int64_t n, int64_t label, int64_t objects);
  void weigh(int64_t objects, int64_t chosen);
  void judge(const float* x, int64_t n, int64_t p, BranchLossSums& sums);
  void judge_class(const float* x, int64_t n, int64_t p, BranchLossSums& sums);
  void judge_box(const float* x, int64_t n, int64_t p, BranchLossSums& sums);
  void save_gradient(Context& context, float* to, float of_class, float of_box);

  const caffe::DetectionLossParameter& param_;
  const caffe::LossParameter& loss_;
  TemplateField field_;
  OffsetScale scale_;
  BranchLabels labels_ = {};
  int64_t width_ = 1, channels_ = 0;
  uint64_t layer_seed_ = 0;
  std::vector<char> chosen_;     ///< of one image
  std::vector<int64_t> order_;   ///< background of one image
  std::vector<float> gradient_;  ///< of the sums
  std::vector<float> weights_;   ///< of each position; below 0: ignored
  HostStage stage_, saved_stage_;
};

BranchLossLayer::BranchLossLayer(const LayerOptions& options)
    : param_(options.config.detection_loss_param()),
      loss_(options.config.loss_param()),
      field_{float(param_.field_w()), float(param_.field_h()), float(param_.downsample_rate()), param_.field_whr(),
             param_.field_xyr()},
      scale_(offset_scale(options.config.bbox_reg_param().bbox_mean(), options.config.bbox_reg_param().bbox_std(),
                          "bbox_reg_param")) {
  field_.check("detection_loss_param");
  const std::string& mode = param_.sample_mode();
  if (mode != "random" && mode != "bootstrap" && mode != "mixture")
    throw FieldError("detection_loss_param.sample_mode",
                     "it is '" + mode + "', but must be random, bootstrap or mixture");
  if (!(param_.bg_multiple() >= 0 && param_.bg_multiple() <= kMaxMultiple))
    throw FieldError("detection_loss_param.bg_multiple",
                     "it is " + to_text(param_.bg_multiple()) + ", but must be in [0, " + to_text(kMaxMultiple) + "]",
                     "set the number of background positions for each position with an object");
  for (const auto& [value, name] : {std::pair(param_.lambda(), "lambda"), {param_.bg_threshold(), "bg_threshold"}})
    if (!std::isfinite(value)) throw FieldError(std::string("detection_loss_param.") + name, "it is " + to_text(value));
}

/// Sets the weights of all positions.
void BranchLossLayer::choose(Context& context, const float* x) {
  const std::string& mode = param_.sample_mode();
  int64_t all_objects = 0, all_chosen = 0;
  for (int64_t n = 0; n < labels_.images; ++n) {
    std::fill(chosen_.begin(), chosen_.end(), 0);
    int64_t objects = 0;
    for (int64_t p = 0; p < labels_.places; ++p) objects += labels_.is_object(n, p);
    if (mode != "bootstrap") draw(context, n, objects);
    for (int64_t k = 1; k < labels_.classes && mode != "random"; ++k) {
      int64_t of_class = 0;
      for (int64_t p = 0; p < labels_.places; ++p) of_class += labels_.counts(n, p) && labels_.label(n, p) == float(k);
      take_worst(x, n, k, of_class);
    }
    for (int64_t p = 0; p < labels_.places; ++p) {
      const bool counts =
          labels_.is_object(n, p) || chosen_[size_t(p)] || (labels_.counts(n, p) && !labels_.valid(n, p));
      weights_[size_t(n * labels_.places + p)] = counts ? 1 : -1;
      all_chosen += chosen_[size_t(p)];
    }
    all_objects += objects;
  }
  if (param_.pos_neg_weighted() && all_objects > 0) weigh(all_objects, all_chosen);
}

void BranchLossLayer::draw(Context& context, int64_t n, int64_t objects) {
  if (labels_.places == 0) return;
  const int64_t draws = std::max(int64_t(float(objects) * multiple()), 4 * (labels_.classes - 1));
  RandomStream stream(mix_key(mix_key(mix_key(context.seed, layer_seed_), context.pass), uint64_t(n)));
  for (int64_t i = 0; i < draws; ++i) {
    const int64_t p = int64_t(stream.below(uint64_t(labels_.places)));
    if (background(n, p)) chosen_[size_t(p)] = 1;
  }
}

void BranchLossLayer::take_worst(const float* x, int64_t n, int64_t label, int64_t objects) {
  order_.clear();
  for (int64_t p = 0; p < labels_.places; ++p)
    if (background(n, p) && !std::isnan(x[at(n, label, p)])) order_.push_back(p);
  const int64_t wanted = std::max<int64_t>(int64_t(float(objects) * multiple()), 4);
  const auto end = order_.begin() + std::min(wanted, int64_t(order_.size()));
  std::partial_sort(order_.begin(), end, order_.end(), [&](int64_t a, int64_t b) {
    const float score_a = x[at(n, label, a)], score_b = x[at(n, label, b)];
    return score_a > score_b || (score_a == score_b && a < b);
  });
  for (auto p = order_.begin(); p != end; ++p) chosen_[size_t(*p)] = 1;
}

void BranchLossLayer::weigh(int64_t objects, int64_t chosen) {
  const float all = float(objects + chosen), share = 1 / (1 + param_.bg_multiple());
  const float of_object = share * all / float(objects),
              of_background = (1 - share) * all / float(std::max<int64_t>(chosen, 1));
  for (int64_t n = 0; n < labels_.images; ++n)
    for (int64_t p = 0; p < labels_.places; ++p)
      if (float& weight = weights_[size_t(n * labels_.places + p)]; weight > 0)
        weight *= labels_.is_object(n, p) ? of_object : of_background;
}

void BranchLossLayer::judge(const float* x, int64_t n, int64_t p, BranchLossSums& sums) {
  if (labels_.counts(n, p) && !labels_.valid(n, p)) {
    sums.classes = NAN;
    sums.places = std::max<int64_t>(sums.places, 1);
    return;
  }
  if (weights_[size_t(n * labels_.places + p)] < 0) return;
  judge_class(x, n, p, sums);
  if (labels_.is_object(n, p)) judge_box(x, n, p, sums);
}

void BranchLossLayer::judge_class(const float* x, int64_t n, int64_t p, BranchLossSums& sums) {
  const int64_t label = int64_t(labels_.label(n, p));
  const float weight = weights_[size_t(n * labels_.places + p)];
  sums.classes +=
      softmax_term(x + at(n, 0, p), labels_.places, labels_.classes, label, weight, &gradient_[at(n, 0, p)]);
  ++sums.places;
}

void BranchLossLayer::judge_box(const float* x, int64_t n, int64_t p, BranchLossSums& sums) {
  const size_t first = at(n, labels_.classes, p);
  const BoxOffsets t = limited_offsets(field_, scale_, offsets_at(x + first, labels_.places));
  const BoxOffsets g = wanted_offsets(field_, scale_, labels_, n, p, width_);
  sums.boxes += box_term(t, g, param_.bb_smooth(), &gradient_[first], labels_.places);
  sums.numbers += 4;
}

void BranchLossLayer::save_gradient(Context& context, float* to, float of_class, float of_box) {
  float* staged = saved_stage_.begin(context, to, int64_t(gradient_.size()));
  for (int64_t n = 0; n < labels_.images; ++n)
    for (int64_t c = 0; c < channels_; ++c)
      for (int64_t p = 0; p < labels_.places; ++p)
        staged[at(n, c, p)] = gradient_[at(n, c, p)] * (c < labels_.classes ? of_class : of_box);
  saved_stage_.commit(context);
}

}  // namespace

std::unique_ptr<Layer> make_branch_loss(const LayerOptions& options) {
  return std::make_unique<BranchLossLayer>(options);
}

}  // namespace cortado

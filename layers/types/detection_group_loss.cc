// DetectionGroupLoss (Cascade R-CNN): the loss of the classes and boxes of a branch with several templates at each
// position. Bottoms are the scores of K classes N G x K x H x W, boxes N G x 4 x H x W encoded as in
// common/template_field.h, and labels N G x 6 x H x W (common/branch_labels.h), for G templates of each of N images. y,
// 1 x 1 x 1 x 2, is c + lambda b and lambda b:
//   c  the mean of -w log(max(p, FLT_MIN)) over the selected positions, p being the softmax of the label's score
//   b  the mean of f(t - g) over the four numbers t of the selected positions with objects, g being those of their
//      object, both normalized as in bbox_reg_param. f(d) = d^2 / 2; with bbox_loss_type Smooth_L1, the default, only
//      if |d| < 1, else |d| - 1/2
// With objectness the label of all objects is 1. t is limited if field_whr and field_xyr are set.
//
// Positions are selected in each image, over all templates. Background may be selected if it overlaps objects by less
// than bg_threshold. With batch_size -1 all positions with objects are selected, and bg_multiple times as many of the
// background, but at least min_num_neg. Otherwise batch_size are: at most the fraction 1 / (1 + bg_multiple) with
// objects, drawn at random, then background. neg_mining_type chooses among the background:
//   random     draws it
//   bootstrap  takes the positions with the largest class losses, the first of equals
//   mixture    takes half of it so, rounded up, and draws the rest
// w = 1. With pos_neg_weighted the total weight of objects is 1 / (1 + bg_multiple), that of the background the rest.
// Positions with loss_param.ignore_label are ignored; other fields of loss_param are not read.
//
// As in Cascade R-CNN, dx is that of the first value only: the second one is for display. Beyond the limits of t the
// gradient is that at the limit. An invalid label makes y NaN.
//
// The selection runs on the host, which computes dx / dy at the same time.

#include <algorithm>
#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/text/text.h"
#include "layers/common/detection/keep_some.h"
#include "layers/common/detection/template_group.h"
#include "layers/common/detection/template_loss.h"
#include "layers/common/weights/kept_gradient.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr uint32_t kGroupLossMostMultiple = 1000;
const std::string kGroupLossOwn = "detection_group_loss_param.";

class DetectionGroupLossLayer : public Layer {
 public:
  explicit DetectionGroupLossLayer(const LayerOptions& options);

  LayerShapes infer(const std::vector<Shape>& x) override {
    labels_ = group_labels(x, param_.cls_num(), param_.objectness(), loss_, "detection_group_loss_param");
    images_ = images_of_group(x[0], 0, templates());
    width_ = x[0][3];
    return {.y = {{1, 1, 1, 2}}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    layer_seed_ = request.layer_seed;
    weights_.resize(size_t(labels_.images * labels_.places));
    LayerNeeds needs;
    for (size_t i = 0; i < 2; ++i) {
      const int64_t count = request.x[i].shape.count();
      gradients_[i].resize(size_t(count));
      needs.saved.push_back(request.backward ? count * int64_t(sizeof(float)) : 0);
    }
    return needs;
  }

  void forward(Context& context, const Operands& io) override;

  void backward(Context& context, const Operands& io) override {
    for (size_t i = 0; i < 2; ++i)
      if (io.dx[i]) scale_kept_gradient(context, io.saved[i], io.dy[0], io.dx[i]);
  }

  void validate(Context& context, const Operands& io) override { validate_branch_labels(context, io.x[2], labels_); }
  bool differentiable(int i) const override { return i < 2; }
  LayerRoles roles() override { return {.needs_host = true}; }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override {
    return 5 * (x[0].count() + x[1].count());
  }

 private:
  /// A position of an image: of plane `plane`, one of its templates.
  struct Place {
    int64_t plane, p;
    float hardness = 0;
  };

  int64_t templates() const { return int64_t(fields_.size()); }
  int64_t index(const Place& place) const { return place.plane * labels_.places + place.p; }
  int64_t label(const Place& place) const {
    const int64_t label = int64_t(labels_.label(place.plane, place.p));
    return param_.objectness() ? std::min<int64_t>(1, label) : label;
  }
  const float* scores_of(const float* scores, const Place& place) const {
    return scores + place.plane * int64_t(param_.cls_num()) * labels_.places + place.p;
  }

  void select(Context& context, const float* scores);
  void sort_places(int64_t n, const float* scores);
  void take_background(size_t count, RandomStream& stream);
  void weigh(int64_t objects, int64_t background);
  void save_gradient(Context& context, size_t i, const Operands& io, float factor);

  const caffe::DetectionGroupLossParameter& param_;
  const caffe::LossParameter& loss_;
  std::vector<TemplateField> fields_;
  OffsetScale scale_;
  bool limits_;
  BranchLabels labels_ = {};
  int64_t images_ = 0, width_ = 1;
  uint64_t layer_seed_ = 0;
  std::vector<Place> objects_, background_;  ///< of one image
  std::vector<float> weights_;               ///< of each position; below 0: not selected
  std::vector<float> gradients_[2];          ///< of the sums
  HostStage stage_, saved_stages_[2];
};

DetectionGroupLossLayer::DetectionGroupLossLayer(const LayerOptions& options)
    : param_(options.config.detection_group_loss_param()),
      loss_(options.config.loss_param()),
      fields_(template_group(param_, "detection_group_loss_param", param_, "detection_group_loss_param")),
      scale_(offset_scale(options.config.bbox_reg_param())),
      limits_(param_.has_field_whr() && param_.has_field_xyr()) {
  const auto require = [](bool right, const std::string& value, const std::string& name, const std::string& names) {
    if (!right) throw FieldError(kGroupLossOwn + name, "it is '" + value + "', but must be " + names);
  };
  const std::string &mining = param_.neg_mining_type(), &ranking = param_.neg_ranking_type();
  require(mining == "random" || mining == "bootstrap" || mining == "mixture", mining, "neg_mining_type",
          "random, bootstrap or mixture");
  require(ranking == "conf_loss" || ranking == "conf_prob", ranking, "neg_ranking_type", "conf_loss or conf_prob");
  const std::string& type = param_.bbox_loss_type();
  require(type == "Smooth_L1" || type == "Euclidean_L2", type, "bbox_loss_type", "Smooth_L1 or Euclidean_L2");
  if (param_.bg_multiple() > kGroupLossMostMultiple)
    throw FieldError(kGroupLossOwn + "bg_multiple",
                     "it is " + std::to_string(param_.bg_multiple()) + ", but must not be above " +
                         std::to_string(kGroupLossMostMultiple),
                     "set the number of background positions for each position with an object");
  if (param_.batch_size() < -1 || param_.batch_size() == 0)
    throw FieldError(kGroupLossOwn + "batch_size", "it is " + std::to_string(param_.batch_size()),
                     "set the number of positions of an image, or -1 for all with objects");
  for (const auto& [value, name] : {std::pair(param_.lambda(), "lambda"), {param_.bg_threshold(), "bg_threshold"}})
    if (!std::isfinite(value)) throw FieldError(kGroupLossOwn + name, "it is " + to_text(value));
}

void DetectionGroupLossLayer::forward(Context& context, const Operands& io) {
  const HostView scores(context, io.x[0].f32(), io.x[0].count()), boxes(context, io.x[1].f32(), io.x[1].count());
  const HostView values(context, io.x[2].f32(), io.x[2].count());
  labels_.values = values.data();
  for (std::vector<float>& gradient : gradients_) std::fill(gradient.begin(), gradient.end(), 0.0f);
  select(context, scores.data());
  double of_classes = 0, of_boxes = 0;
  int64_t places = 0, numbers = 0;
  for (Place place = {0, 0}; place.plane < labels_.images; ++place.plane)
    for (place.p = 0; place.p < labels_.places; ++place.p) {
      const float weight = weights_[size_t(index(place))];
      if (weight < 0) continue;
      ++places;
      if (!labels_.valid(place.plane, place.p)) {
        of_classes = NAN;
        continue;
      }
      const float* x = scores_of(scores.data(), place);
      of_classes += softmax_term(x, labels_.places, param_.cls_num(), label(place), weight,
                                 gradients_[0].data() + (x - scores.data()));
      if (!labels_.is_object(place.plane, place.p)) continue;
      const TemplateField& field = fields_[size_t(place.plane % templates())];
      const int64_t first = place.plane * 4 * labels_.places + place.p;
      const BoxOffsets t = offsets_at(boxes.data() + first, labels_.places);
      const BoxOffsets g = wanted_offsets(field, scale_, labels_, place.plane, place.p, width_);
      of_boxes += box_term(limits_ ? limited_offsets(field, scale_, t) : t, g, param_.bbox_loss_type() == "Smooth_L1",
                           gradients_[1].data() + first, labels_.places);
      numbers += 4;
    }
  const float by_class = places > 0 ? 1 / float(places) : 0;
  const float by_box = numbers > 0 ? param_.lambda() / float(numbers) : 0;
  float* y = stage_.begin(context, io.y[0].f32(), 2);
  y[1] = float(of_boxes) * by_box;
  y[0] = float(of_classes) * by_class + y[1];
  stage_.commit(context);
  save_gradient(context, 0, io, by_class);
  save_gradient(context, 1, io, by_box);
}

/// Sets the weights of all positions.
void DetectionGroupLossLayer::select(Context& context, const float* scores) {
  std::fill(weights_.begin(), weights_.end(), -1.0f);
  RandomStream stream(mix_key(mix_key(context.seed, layer_seed_), context.pass));
  int64_t all_objects = 0, all_background = 0;
  const auto multiple = size_t(param_.bg_multiple());
  for (int64_t n = 0; n < images_; ++n) {
    sort_places(n, scores);
    size_t background = std::max(objects_.size() * multiple, size_t(param_.min_num_neg()));
    if (param_.batch_size() > 0) {
      const auto wanted = size_t(param_.batch_size());
      keep_some(objects_, size_t(std::lround(float(wanted) / float(1 + multiple))), stream);
      background = wanted - objects_.size();
    }
    take_background(background, stream);
    for (const std::vector<Place>* list : {&objects_, &background_})
      for (const Place& place : *list) weights_[size_t(index(place))] = 1;
    all_objects += int64_t(objects_.size()), all_background += int64_t(background_.size());
  }
  if (param_.pos_neg_weighted()) weigh(all_objects, all_background);
}

/// Lists the positions of image n that may be selected. Selects those with invalid labels.
void DetectionGroupLossLayer::sort_places(int64_t n, const float* scores) {
  objects_.clear(), background_.clear();
  const bool ranks = param_.neg_mining_type() != "random";
  for (Place place = {n * templates(), 0}; place.plane < (n + 1) * templates(); ++place.plane)
    for (place.p = 0; place.p < labels_.places; ++place.p) {
      if (!labels_.counts(place.plane, place.p)) continue;
      if (!labels_.valid(place.plane, place.p)) {
        weights_[size_t(index(place))] = 1;
      } else if (labels_.is_object(place.plane, place.p)) {
        objects_.push_back(place);
      } else if (labels_.overlap(place.plane, place.p) < param_.bg_threshold()) {
        if (ranks)
          place.hardness =
              float(softmax_term(scores_of(scores, place), labels_.places, param_.cls_num(), 0, 1, nullptr));
        if (std::isnan(place.hardness)) place.hardness = -INFINITY;
        background_.push_back(place);
      }
    }
}

void DetectionGroupLossLayer::take_background(size_t count, RandomStream& stream) {
  const std::string& mode = param_.neg_mining_type();
  if (background_.size() <= count) return;
  const size_t hard = mode == "random" ? 0 : mode == "bootstrap" ? count : size_t(std::lround(0.5 * double(count)));
  const auto end = background_.begin() + int64_t(hard);
  std::partial_sort(background_.begin(), end, background_.end(), [this](const Place& a, const Place& b) {
    return a.hardness > b.hardness || (a.hardness == b.hardness && index(a) < index(b));
  });
  std::vector<Place> others(end, background_.end());
  keep_some(others, count - hard, stream);
  background_.erase(std::copy(others.begin(), others.end(), end), background_.end());
}

void DetectionGroupLossLayer::weigh(int64_t objects, int64_t background) {
  const float share = 1 / (1 + float(param_.bg_multiple())), all = float(objects + background);
  const float of_object = share * all / float(objects), of_background = (1 - share) * all / float(background);
  for (int64_t plane = 0; plane < labels_.images; ++plane)
    for (int64_t p = 0; p < labels_.places; ++p)
      if (float& weight = weights_[size_t(plane * labels_.places + p)]; weight > 0)
        weight = labels_.label(plane, p) > 0 ? of_object : of_background;
}

void DetectionGroupLossLayer::save_gradient(Context& context, size_t i, const Operands& io, float factor) {
  if (!io.saved[i]) return;
  const std::vector<float>& gradient = gradients_[i];
  float* to = saved_stages_[i].begin(context, static_cast<float*>(io.saved[i]), int64_t(gradient.size()));
  for (size_t k = 0; k < gradient.size(); ++k) to[k] = gradient[k] * factor;
  saved_stages_[i].commit(context);
}

const RegisterLayer register_detection_group_loss({
    .name = "DetectionGroupLoss",
    .help = "the loss of classes and boxes of a branch with several templates (Cascade R-CNN)",
    .options = "detection_group_loss_param",
    .min_bottoms = 3,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<DetectionGroupLossLayer>,
    .loss = LossRole{.judged = {0, 1}},
    .loss_fields = "ignore_label",
});

}  // namespace

}  // namespace cortado

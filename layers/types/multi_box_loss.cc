// MultiBoxLoss: SSD's loss of the offsets (bottom[0], N x 4 P) and classes (bottom[1], N x P classes, before softmax)
// of P prior boxes (bottom[2]), given the objects in the images (bottom[3], layers/common/detection/ground_truth.h):
//   (loc_weight sum over matched boxes of smooth_l1 or squares of (offset - code of the object's box)
//    + sum over matched and mined boxes of the classes' loss) / normalizer
// smooth_l1(d) is d^2 / 2 up to 1 and |d| - 1/2 beyond; squares are d^2 / 2. The classes' loss is softmax or, with
// LOGISTIC, one sigmoid per class. A box without a matching object is background. Of these, MAX_NEGATIVE mines
// neg_pos_ratio times as many as are matched: those with the highest loss that overlap every object by less than
// neg_overlap. HARD_EXAMPLE takes the sample_size boxes with the highest loss, matched or not. The normalizer is
// loss_param's; VALID counts matched boxes.
//
// RefineDet has six bottoms: bottom[4], N x 2 P, holds the priors' objectness scores (priors not above objectness_score
// are left out), and bottom[5], N x 4 P, holds offsets that move the priors before they are matched.
//
// Matching and mining run on the host; forward also computes the gradient there.

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "core/threads/threads.h"
#include "layers/common/detection/box_coding.h"
#include "layers/common/detection/detection_shapes.h"
#include "layers/common/detection/ground_truth.h"
#include "layers/common/detection/suppression.h"
#include "layers/common/losses/loss_normalizer.h"
#include "layers/common/weights/kept_gradient.h"
#include "layers/registry.h"

namespace cortado {

namespace {

using MultiBoxLossParam = caffe::MultiBoxLossParameter;

/// The loss of the classes of one box, and its gradient.
class ClassLoss {
 public:
  ClassLoss(bool logistic, int64_t classes) : logistic_(logistic), classes_(classes) {}

  double value(const float* x, int label) const {
    if (logistic_) {
      double sum = 0;
      for (int64_t c = 0; c < classes_; ++c)
        sum += std::max(x[c], 0.f) - (c == label ? x[c] : 0) + std::log1p(std::exp(-std::fabs(x[c])));
      return sum;
    }
    return -std::log(std::max(std::exp(double(x[label]) - highest(x)) / sum_of(x), double(FLT_MIN)));
  }

  void gradient(const float* x, int label, float scale, float* dx) const {
    const double highest = logistic_ ? 0 : this->highest(x), sum = logistic_ ? 1 : sum_of(x);
    for (int64_t c = 0; c < classes_; ++c) {
      const double p = logistic_ ? 1 / (1 + std::exp(-double(x[c]))) : std::exp(double(x[c]) - highest) / sum;
      dx[c] = scale * float(p - (c == label ? 1 : 0));
    }
  }

 private:
  double highest(const float* x) const { return double(*std::max_element(x, x + classes_)); }
  double sum_of(const float* x) const {
    const double top = highest(x);
    return std::accumulate(x, x + classes_, 0.0,
                           [top](double sum, float v) { return sum + std::exp(double(v) - top); });
  }

  bool logistic_;
  int64_t classes_;
};

/// The localization loss of one difference, and its derivative.
struct OffsetLoss {
  bool smooth;
  double value(double d) const { return !smooth || std::fabs(d) < 1 ? d * d / 2 : std::fabs(d) - 0.5; }
  float slope(float d) const { return !smooth || std::fabs(d) < 1 ? d : d > 0 ? 1.f : -1.f; }
};

/// One image of a batch.
struct Image {
  const float *offsets, *scores, *objectness, *moves;
  std::vector<Box> priors;
  std::vector<BoxMatch> matches;
  std::vector<int> negatives;  ///< background boxes that contribute to the loss
  int64_t matched = 0;
  double loss = 0;
};

class MultiBoxLossLayer : public Layer {
 public:
  explicit MultiBoxLossLayer(const LayerOptions& options);

  LayerShapes infer(const std::vector<Shape>& x) override;
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;
  void validate(Context& context, const Operands& io) override;

  bool differentiable(int i) const override { return i < 2; }
  LayerRoles roles() override { return {.needs_host = true}; }

 private:
  void set_mining();
  void check_options() const;
  void match(const Priors& priors, Image& image, const std::vector<Truth>& truths) const;
  void mine(const Priors& priors, Image& image, const std::vector<Truth>& truths) const;
  std::vector<int> worst(const Priors& priors, const Image& image, const std::vector<float>& losses) const;
  double loss_of(const Priors& priors, const Image& image, const std::vector<Truth>& truths) const;
  void write_gradient(const Priors& priors, const Image& image, const std::vector<Truth>& truths, float scale,
                      float* d_offsets, float* d_scores) const;

  std::vector<Box> decoded(const Priors& priors, const Image& image) const;
  float difference(const Priors& priors, const Image& image, const Truth& truth, size_t p, int k) const {
    return image.offsets[4 * p + size_t(k)] -
           code_.encode(image.priors[p], priors.variances(int64_t(p)), truth.box).v[k];
  }
  const float* scores_at(const Image& image, size_t p) const { return image.scores + p * size_t(shapes_.classes); }
  int label_of(const BoxMatch& match, const std::vector<Truth>& truths) const {
    if (match.truth < 0) return int(param_.background_label_id());
    return param_.map_object_to_agnostic() ? int(param_.background_label_id()) + 1 : truths[size_t(match.truth)].label;
  }
  bool is_class(float label) const {
    return label >= 0 && label < float(shapes_.classes) && label == std::floor(label) &&
           int64_t(label) != int64_t(param_.background_label_id());
  }

  const MultiBoxLossParam& param_;
  const caffe::LossParameter& loss_param_;
  MultiBoxLossParam::MiningType mining_ = MultiBoxLossParam::MAX_NEGATIVE;
  BoxCode code_;
  MatchRule rule_;
  ClassLoss class_loss_;
  OffsetLoss offset_loss_;
  DetectionShapes shapes_;
  std::vector<Image> images_;
  std::vector<std::vector<Truth>> truths_;
  HostStage loss_, d_offsets_, d_scores_;
  bool backward_ = false;
};

MultiBoxLossLayer::MultiBoxLossLayer(const LayerOptions& options)
    : param_(options.config.multibox_loss_param()),
      loss_param_(options.config.loss_param()),
      code_{param_.code_type(), !param_.encode_variance_in_target()},
      rule_{param_.match_type() == MultiBoxLossParam::PER_PREDICTION, param_.overlap_threshold(),
            param_.ignore_cross_boundary_bbox()},
      class_loss_(param_.conf_loss_type() == MultiBoxLossParam::LOGISTIC, param_.num_classes()),
      offset_loss_{param_.loc_loss_type() == MultiBoxLossParam::SMOOTH_L1} {
  set_mining();
  check_options();
}

/// do_neg_mining is the deprecated field.
void MultiBoxLossLayer::set_mining() {
  mining_ = param_.mining_type();
  if (!param_.has_do_neg_mining()) return;
  if (!param_.has_mining_type())
    mining_ = param_.do_neg_mining() ? MultiBoxLossParam::MAX_NEGATIVE : MultiBoxLossParam::NONE;
  else if (param_.do_neg_mining() != (mining_ != MultiBoxLossParam::NONE))
    throw FieldError("multibox_loss_param.do_neg_mining", "it contradicts mining_type", "remove do_neg_mining");
}

void MultiBoxLossLayer::check_options() const {
  const std::string param = "multibox_loss_param.";
  if (param_.num_classes() < 2)
    throw FieldError(param + "num_classes",
                     "it is " + std::to_string(param_.num_classes()) + ", but must be at least 2",
                     "set the number of classes, background included");
  if (param_.background_label_id() >= param_.num_classes())
    throw FieldError(param + "background_label_id", "it is " + std::to_string(param_.background_label_id()) +
                                                        ", but there are " + std::to_string(param_.num_classes()) +
                                                        " classes");
  if (!param_.share_location())
    throw FieldError(param + "share_location", "separate boxes for each class are not supported",
                     "remove it, the default is true");
  const auto unknown = [&](bool set, const std::string& field) {
    if (set) throw FieldError(param + field, "it is not supported", "remove it");
  };
  unknown(param_.bp_inside(), "bp_inside");
  unknown(param_.ignore_difficult_gt(), "ignore_difficult_gt");
  unknown(param_.nms_param().soft_nms(), "nms_param.soft_nms");
  if (!(param_.neg_pos_ratio() >= 0))
    throw FieldError(param + "neg_pos_ratio", "it is " + to_text(param_.neg_pos_ratio()) + ", but must be at least 0");
  if (mining_ == MultiBoxLossParam::HARD_EXAMPLE && param_.sample_size() < 1)
    throw FieldError(param + "sample_size", "it is " + std::to_string(param_.sample_size()) + ", but must be above 0");
}

LayerShapes MultiBoxLossLayer::infer(const std::vector<Shape>& x) {
  shapes_ = detection_shapes(x, "multibox_loss_param", param_.num_classes(), true);
  if (x[3].axes() < 1 || x[3].count() % kTruthWidth != 0 || x[3][x[3].axes() - 1] != kTruthWidth)
    throw FieldError("bottom[3]", "its shape is " + x[3].str() + ", but an object has 8 values",
                     "use the second top of AnnotatedData, 1 x 1 x objects x 8");
  if (x.size() == 5)
    throw FieldError("bottom[4]", "there are five bottoms",
                     "list four, or six for RefineDet (scores and offsets of its anchors)");
  if (x.size() == 6) require_anchors(x, 4, shapes_);
  return {.y = {Shape()}, .w = {}};
}

LayerNeeds MultiBoxLossLayer::prepare(const PrepareRequest& request, Context&) {
  backward_ = request.backward;
  images_.assign(size_t(shapes_.images), {});
  truths_.assign(size_t(shapes_.images), {});
  LayerNeeds needs;
  if (backward_)
    needs.saved = {request.x[0].shape.count() * int64_t(sizeof(float)),
                   request.x[1].shape.count() * int64_t(sizeof(float))};
  return needs;
}

void MultiBoxLossLayer::validate(Context& context, const Operands& io) {
  const HostView rows(context, io.x[3].f32(), io.x[3].count());
  for (int64_t i = 0; i < io.x[3].count() / kTruthWidth; ++i) {
    const float* row = rows.data() + i * kTruthWidth;
    if (row[0] < 0 || is_class(row[1])) continue;
    throw Error(ExitCode::kData,
                "label " + to_text(row[1]) + " of an object of image " + to_text(row[0]) +
                    " of the batch is not one of the " + std::to_string(shapes_.classes) + " classes",
                "use labels from 0 to " + std::to_string(shapes_.classes - 1) + ", and " +
                    std::to_string(param_.background_label_id()) +
                    " is the background; set multibox_loss_param.num_classes to their number");
  }
}

std::vector<Box> MultiBoxLossLayer::decoded(const Priors& priors, const Image& image) const {
  std::vector<Box> boxes(image.priors.size());
  for (size_t p = 0; p < boxes.size(); ++p)
    boxes[p] = code_.decode(image.priors[p], priors.variances(int64_t(p)), offsets_at(image.offsets + 4 * p));
  return boxes;
}

void MultiBoxLossLayer::match(const Priors& priors, Image& image, const std::vector<Truth>& truths) const {
  const size_t count = size_t(shapes_.priors);
  image.priors.resize(count);
  image.matches.assign(count, {});
  for (size_t p = 0; p < count; ++p) {
    const Box prior = priors.box(int64_t(p));
    image.priors[p] =
        image.moves ? code_.decode(prior, priors.variances(int64_t(p)), offsets_at(image.moves + 4 * p)) : prior;
    if (image.objectness && !(image.objectness[2 * p + 1] >= param_.objectness_score()))
      image.matches[p].truth = BoxMatch::kLeftOut;
  }
  match_boxes(param_.use_prior_for_matching() ? image.priors : decoded(priors, image), truths, rule_, image.matches);
}

/// The indices of the candidate boxes, highest loss first.
std::vector<int> MultiBoxLossLayer::worst(const Priors& priors, const Image& image,
                                          const std::vector<float>& losses) const {
  const caffe::NonMaximumSuppressionParameter& nms = param_.nms_param();
  std::vector<int> order = best_first(losses.data(), int64_t(losses.size()), -1, nms.has_top_k() ? nms.top_k() : -1);
  if (!param_.has_nms_param() || nms.nms_threshold() <= 0) return order;
  const std::vector<Box> boxes = param_.use_prior_for_nms() ? image.priors : decoded(priors, image);
  return suppress(boxes.data(), order, {.threshold = nms.nms_threshold(), .eta = nms.eta()});
}

void MultiBoxLossLayer::mine(const Priors& priors, Image& image, const std::vector<Truth>& truths) const {
  const auto matched = [](const BoxMatch& match) { return match.truth >= 0; };
  const auto count_matched = [&] { return std::count_if(image.matches.begin(), image.matches.end(), matched); };
  const bool hard = mining_ == MultiBoxLossParam::HARD_EXAMPLE;
  std::vector<float> losses(image.matches.size(), -2);  // of the candidate boxes
  for (size_t p = 0; p < losses.size(); ++p) {
    const BoxMatch& match = image.matches[p];
    const bool negative = match.truth == BoxMatch::kNone &&
                          (mining_ != MultiBoxLossParam::MAX_NEGATIVE || match.overlap < param_.neg_overlap());
    if (!negative && !(hard && match.truth >= 0)) continue;
    double loss =
        mining_ == MultiBoxLossParam::NONE ? 0 : class_loss_.value(scores_at(image, p), label_of(match, truths));
    for (int k = 0; hard && match.truth >= 0 && k < 4; ++k)
      loss += offset_loss_.value(difference(priors, image, truths[size_t(match.truth)], p, k));
    losses[p] = std::isfinite(loss) ? float(loss) : FLT_MAX;
  }
  std::vector<int> taken;
  if (mining_ == MultiBoxLossParam::NONE) {
    for (size_t p = 0; p < losses.size(); ++p)
      if (losses[p] >= 0) taken.push_back(int(p));
  } else {
    taken = worst(priors, image, losses);
    const size_t most =
        hard ? size_t(param_.sample_size())
             : size_t(std::min(double(param_.neg_pos_ratio()) * double(count_matched()), double(losses.size())));
    if (taken.size() > most) taken.resize(most);
  }
  std::sort(taken.begin(), taken.end());
  if (hard)
    for (size_t p = 0; p < losses.size(); ++p)
      if (matched(image.matches[p]) && !std::binary_search(taken.begin(), taken.end(), int(p)))
        image.matches[p].truth = BoxMatch::kLeftOut;
  std::erase_if(taken, [&](int p) { return matched(image.matches[size_t(p)]); });
  image.negatives = std::move(taken);
  image.matched = count_matched();
}

double MultiBoxLossLayer::loss_of(const Priors& priors, const Image& image, const std::vector<Truth>& truths) const {
  double offsets = 0, classes = 0;
  for (size_t p = 0; p < image.matches.size(); ++p) {
    const BoxMatch& match = image.matches[p];
    if (match.truth < 0) continue;
    for (int k = 0; k < 4; ++k)
      offsets += offset_loss_.value(difference(priors, image, truths[size_t(match.truth)], p, k));
    classes += class_loss_.value(scores_at(image, p), label_of(match, truths));
  }
  for (const int p : image.negatives)
    classes += class_loss_.value(scores_at(image, size_t(p)), int(param_.background_label_id()));
  return param_.loc_weight() * offsets + classes;
}

void MultiBoxLossLayer::write_gradient(const Priors& priors, const Image& image, const std::vector<Truth>& truths,
                                       float scale, float* d_offsets, float* d_scores) const {
  std::fill_n(d_offsets, 4 * image.matches.size(), 0.f);
  std::fill_n(d_scores, image.matches.size() * size_t(shapes_.classes), 0.f);
  const auto of_classes = [&](size_t p, int label) {
    class_loss_.gradient(scores_at(image, p), label, scale, d_scores + p * size_t(shapes_.classes));
  };
  for (size_t p = 0; p < image.matches.size(); ++p) {
    const BoxMatch& match = image.matches[p];
    if (match.truth < 0) continue;
    for (int k = 0; k < 4; ++k)
      d_offsets[4 * p + size_t(k)] = scale * param_.loc_weight() *
                                     offset_loss_.slope(difference(priors, image, truths[size_t(match.truth)], p, k));
    of_classes(p, label_of(match, truths));
  }
  for (const int p : image.negatives) of_classes(size_t(p), int(param_.background_label_id()));
}

void MultiBoxLossLayer::forward(Context& context, const Operands& io) {
  std::vector<HostView> x;
  for (const Tensor& operand : io.x) x.emplace_back(context, operand.f32(), operand.count());
  const Priors priors{x[2].data(), shapes_.priors};
  sort_truths(x[3].data(), io.x[3].count() / kTruthWidth, truths_);
  for (std::vector<Truth>& truths : truths_)
    std::erase_if(truths, [&](const Truth& truth) {
      return !is_class(float(truth.label)) || (truth.difficult && !param_.use_difficult_gt());
    });
  parallel_ranges(context, shapes_.images, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Image& image = images_[size_t(i)];
      image.offsets = x[0].data() + i * shapes_.offsets_of_an_image();
      image.scores = x[1].data() + i * shapes_.priors * shapes_.classes;
      image.objectness = x.size() > 4 ? x[4].data() + i * 2 * shapes_.priors : nullptr;
      image.moves = x.size() > 4 ? x[5].data() + i * 4 * shapes_.priors : nullptr;
      match(priors, image, truths_[size_t(i)]);
      mine(priors, image, truths_[size_t(i)]);
      image.loss = loss_of(priors, image, truths_[size_t(i)]);
    }
  });
  double loss = 0;
  int64_t matched = 0;
  for (const Image& image : images_) loss += image.loss, matched += image.matched;
  const float fixed = fixed_normalizer(loss_param_, caffe::LossParameter::VALID, shapes_.images * shapes_.priors,
                                       shapes_.images, float(matched));
  const float normalizer = std::max(fixed, 1.f);
  *loss_.begin(context, io.y[0].f32(), 1) = float(loss / double(normalizer));
  loss_.commit(context);
  if (!backward_) return;
  float* d_offsets = d_offsets_.begin(context, static_cast<float*>(io.saved[0]), io.x[0].count());
  float* d_scores = d_scores_.begin(context, static_cast<float*>(io.saved[1]), io.x[1].count());
  parallel_ranges(context, shapes_.images, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      write_gradient(priors, images_[size_t(i)], truths_[size_t(i)], 1 / normalizer,
                     d_offsets + i * shapes_.offsets_of_an_image(), d_scores + i * shapes_.priors * shapes_.classes);
  });
  d_offsets_.commit(context);
  d_scores_.commit(context);
}

void MultiBoxLossLayer::backward(Context& context, const Operands& io) {
  for (size_t i = 0; i < 2; ++i)
    if (io.dx[i]) scale_kept_gradient(context, io.saved[i], io.dy[0], io.dx[i]);
}

const RegisterLayer register_multi_box_loss({
    .name = "MultiBoxLoss",
    .help = "the loss of boxes relative to priors, and of their classes",
    .options = "multibox_loss_param",
    .min_bottoms = 4,
    .max_bottoms = 6,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<MultiBoxLossLayer>,
    .loss = LossRole{.answer = "DetectionOutput", .judged = {0, 1, 2, 4, 5}},
    .loss_fields = kNormalizerFields,
});

}  // namespace

}  // namespace cortado

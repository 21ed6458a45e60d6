// ProposalTarget (MS-CNN, Cascade R-CNN): samples regions for a stage and computes their targets. Bottoms are regions
// R x 5 (common/regions.h) and the images' objects G x 7: index of the image, corners, class, and whether it is
// ignored; rows of class 0 or image -1 are unused. Cascade R-CNN's are G x 8, with a last number that is not read. Tops
// are
//   regions n x 5, their classes n, the box targets n x D, the inside and outside weights of the box loss n x D,
//   matches n x 6 (class, the object's corners, overlap), and, optionally, the weights n of the class loss
// The layer has no gradient. D is 4 cls_num, or with cls_aware: false 8 (background and all objects); the default is
// true, as in MS-CNN. A region's four targets are at the index of its class: the offsets of its object
// (common/box_offsets.h), normalized by bbox_reg_param. Their weights are 1, all others 0.
//
// Objects are appended to the regions. A region that overlaps an object of its image by fg_thr or more gets its class,
// or is left out if that object is ignored; the others are background: good if their overlap is in [bg_thr_lw,
// bg_thr_hg), else poor. With batch_size -1 all foreground regions and all good background are taken. Otherwise
// batch_size regions are: foreground first, at most the fraction fg_fraction, drawn at random; then good background,
// drawn if there are too many; then the first poor ones; then random boxes that overlap no object by fg_thr. The class
// weights make the foreground count fg_fraction in total, the background the rest.
//
// With Cascade R-CNN's objects only one random box is drawn, if there is none else, and classes and weights are
// n x 1 x 1 x 1. Its options: append_gtbox and pickup_discard false leave out objects and poor background; bbox_thr_lw
// and bbox_thr_hg limit the overlaps of regions whose weights in the box loss are 1; iou_weighted makes the class
// weights of the foreground proportional to overlaps.
//
// The number of rows depends on the values (layers/roles.h): there are fewer than batch_size if objects leave no room
// for background. Sides are a pixel longer than the difference of their corners.

#include <algorithm>
#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/text/text.h"
#include "layers/common/detection/box_offsets.h"
#include "layers/common/detection/keep_some.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"
#include "layers/roles.h"

namespace cortado {

namespace {

constexpr int kLeastSide = 32;  ///< of random boxes, in pixels
constexpr int kProposalTargetMostRows = 1 << 20;
constexpr int kMaxTries = 100;  ///< for each random box

struct ProposalTargetCandidate {
  float image = 0;
  Box box;
  int64_t object = -1;  ///< the object with the largest overlap; -1 if none
  float overlap = 0;
};

struct Object {
  float image;
  Box box;
  float label;
  bool ignored;
};

class ProposalTargetLayer : public Layer, public DynamicRows {
 public:
  explicit ProposalTargetLayer(const LayerOptions& options);

  LayerShapes infer(const std::vector<Shape>& x) override {
    const auto require_width = [&](size_t i, int64_t least, int64_t most, const std::string& hint) {
      if (x[i].axes() >= 2 && x[i].count(1) >= least && x[i].count(1) <= most) return;
      throw FieldError(entry("bottom", int64_t(i)),
                       "its shape is " + x[i].str() + ", but must be N x " + std::to_string(least), hint);
    };
    require_width(0, 5, 5, "set rows of an image index and a region");
    require_width(1, 7, 8, "set rows of an image index, corners, class, and whether it is ignored");
    regions_ = x[0][0], rows_ = x[1][0], row_width_ = x[1].count(1);
    most_ = live_ = param_.batch_size() > 0 ? param_.batch_size() : std::max<int64_t>(1, regions_ + rows_);
    return {.y = current_shapes(), .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    layer_seed_ = request.layer_seed;
    const size_t all = size_t(regions_ + rows_ + most_);
    candidates_.reserve(all);
    objects_.reserve(size_t(rows_));
    for (std::vector<size_t>* list : {&with_object_, &good_, &poor_}) list->reserve(all);
    return {};
  }

  void forward(Context& context, const Operands& io) override;
  void validate(Context& context, const Operands& io) override;
  bool differentiable(int) const override { return false; }
  LayerRoles roles() override { return {.needs_host = true, .rows = this}; }

  std::vector<Shape> current_shapes() const override {
    const Shape numbers = {live_, numbers_};
    const Shape one = cascade() ? Shape{live_, 1, 1, 1} : Shape{live_};
    const std::vector<Shape> all = {{live_, 5}, one, numbers, numbers, numbers, {live_, 6}, one};
    return {all.begin(), all.begin() + tops_};
  }

 private:
  bool valid_image(float image) const {
    return image >= 0 && image < float(param_.num_img_per_batch()) && image == std::floor(image);
  }
  bool cascade() const { return row_width_ == 8; }
  static bool is_unused(const float* row) { return row[5] == 0 || row[0] == -1; }
  bool valid_object(const float* row) const {
    return valid_image(row[0]) && row[5] >= 1 && row[5] < float(param_.cls_num()) && row[5] == std::floor(row[5]);
  }

  void gather(const float* regions, const float* rows);
  void match(ProposalTargetCandidate& candidate) const;
  void sort_out();
  void take(RandomStream& stream);
  void draw_background(RandomStream& stream, size_t count);
  void write(size_t r, const ProposalTargetCandidate& candidate, bool has_object, float* const* to) const;
  void write_weights(float* to) const;

  const caffe::ProposalTargetParameter& param_;
  OffsetScale scale_;
  bool by_class_;
  int tops_;
  int64_t numbers_ = 0, regions_ = 0, rows_ = 0, row_width_ = 7, most_ = 0, live_ = 0;
  uint64_t layer_seed_ = 0;
  std::vector<ProposalTargetCandidate> candidates_;
  std::vector<Object> objects_;
  std::vector<size_t> with_object_, good_, poor_;  ///< candidates
  HostStage stages_[7];
};

ProposalTargetLayer::ProposalTargetLayer(const LayerOptions& options)
    : param_(options.config.proposal_target_param()),
      scale_(offset_scale(options.config.bbox_reg_param().bbox_mean(), options.config.bbox_reg_param().bbox_std(),
                          "bbox_reg_param")),
      by_class_(!options.config.bbox_reg_param().has_cls_aware() || options.config.bbox_reg_param().cls_aware()),
      tops_(std::max(options.config.top_size(), 6)) {
  const std::string field = "proposal_target_param.";
  if (param_.cls_num() < 2)
    throw FieldError(field + "cls_num", "it is " + std::to_string(param_.cls_num()) + ", but must be at least 2",
                     "set the number of classes, background included");
  numbers_ = by_class_ ? 4 * int64_t(param_.cls_num()) : 8;
  if (param_.num_img_per_batch() == 0)
    throw FieldError(field + "num_img_per_batch", "it is 0", "set the number of images of a batch");
  if (param_.batch_size() != -1 && (param_.batch_size() <= 0 || param_.batch_size() > kProposalTargetMostRows))
    throw FieldError(field + "batch_size", "it is " + std::to_string(param_.batch_size()),
                     "set the number of regions of a batch, or -1 for all");
  if (!(param_.fg_fraction() >= 0 && param_.fg_fraction() <= 1))
    throw FieldError(field + "fg_fraction", "it is " + to_text(param_.fg_fraction()) + ", but must be in [0, 1]");
  if (!(param_.fg_thr() > 0))
    throw FieldError(field + "fg_thr", "it is " + to_text(param_.fg_thr()) + ", but must be above 0");
  if (!(param_.bg_thr_hg() <= param_.fg_thr()))
    throw FieldError(field + "bg_thr_hg",
                     "it is " + to_text(param_.bg_thr_hg()) + ", but fg_thr is " + to_text(param_.fg_thr()),
                     "set bg_thr_hg no larger than fg_thr");
  for (const auto& [side, name] : {std::pair(param_.img_width(), "img_width"), {param_.img_height(), "img_height"}})
    if (param_.batch_size() > 0 && (side <= kLeastSide || side > uint32_t(1) << 24))
      throw FieldError(field + name,
                       "it is " + std::to_string(side) + ", but must be above " + std::to_string(kLeastSide),
                       "set the image size: random boxes are drawn in it if regions are too few");
}

void ProposalTargetLayer::gather(const float* regions, const float* rows) {
  candidates_.clear();
  objects_.clear();
  const auto add = [this](const float* row) {
    const ProposalTargetCandidate candidate = {row[0], {row[1], row[2], row[3], row[4]}};
    if (valid_image(row[0]) && !has_nan(candidate.box)) candidates_.push_back(candidate);
  };
  for (int64_t r = 0; r < regions_; ++r) add(regions + 5 * r);
  for (int64_t g = 0; g < rows_; ++g) {
    const float* row = rows + row_width_ * g;
    if (!valid_object(row)) continue;
    if (param_.append_gtbox()) add(row);
    objects_.push_back({row[0], {row[1], row[2], row[3], row[4]}, row[5], row[6] != 0});
  }
}

void ProposalTargetLayer::match(ProposalTargetCandidate& candidate) const {
  for (size_t g = 0; g < objects_.size(); ++g) {
    if (objects_[g].image != candidate.image) continue;
    const float overlap = box_overlap(candidate.box, objects_[g].box, 1);
    if (candidate.object >= 0 && !(overlap > candidate.overlap)) continue;
    candidate.object = int64_t(g);
    candidate.overlap = overlap;
  }
}

void ProposalTargetLayer::sort_out() {
  for (std::vector<size_t>* list : {&with_object_, &good_, &poor_}) list->clear();
  for (size_t i = 0; i < candidates_.size(); ++i) {
    ProposalTargetCandidate& candidate = candidates_[i];
    match(candidate);
    if (candidate.overlap >= param_.fg_thr()) {
      if (!objects_[size_t(candidate.object)].ignored) with_object_.push_back(i);
    } else {
      const bool good = candidate.overlap >= param_.bg_thr_lw() && candidate.overlap < param_.bg_thr_hg();
      (good ? good_ : poor_).push_back(i);
    }
  }
}

/// Stores the background in good_.
void ProposalTargetLayer::take(RandomStream& stream) {
  if (param_.batch_size() < 0) {
    if (cascade() && with_object_.empty() && good_.empty()) draw_background(stream, 1);
    return;
  }
  const size_t wanted = size_t(param_.batch_size());
  keep_some(with_object_, size_t(std::round(param_.fg_fraction() * float(wanted))), stream);
  const size_t background = wanted - with_object_.size();
  keep_some(good_, background, stream);
  const size_t missing = param_.pickup_discard() ? std::min(background - good_.size(), poor_.size()) : 0;
  good_.insert(good_.end(), poor_.begin(), poor_.begin() + int64_t(missing));
  if (!cascade())
    draw_background(stream, background - good_.size());
  else if (with_object_.empty() && good_.empty())
    draw_background(stream, 1);
}

void ProposalTargetLayer::draw_background(RandomStream& stream, size_t count) {
  const auto below = [&stream](int64_t n) { return int64_t(stream.below(uint64_t(std::max<int64_t>(n, 1)))); };
  for (int64_t tries = kMaxTries * int64_t(count); count > 0 && tries > 0; --tries) {
    ProposalTargetCandidate box;
    box.image = float(below(param_.num_img_per_batch()));
    const int64_t whole_width = param_.img_width(), whole_height = param_.img_height();
    const int64_t x = below(whole_width - kLeastSide), y = below(whole_height - kLeastSide);
    const int64_t width = std::max<int64_t>(below(whole_width - x), kLeastSide);
    const int64_t height = std::max<int64_t>(below(whole_height - y), kLeastSide);
    box.box = {float(x), float(y), float(x + width - 1), float(y + height - 1)};
    match(box);
    if (box.overlap >= param_.fg_thr()) continue;
    good_.push_back(candidates_.size());
    candidates_.push_back(box);
    --count;
  }
}

/// Writes row r of the first six tops, which must hold zeros.
void ProposalTargetLayer::write(size_t r, const ProposalTargetCandidate& candidate, bool has_object,
                                float* const* to) const {
  const float row[5] = {candidate.image, candidate.box.x0, candidate.box.y0, candidate.box.x1, candidate.box.y1};
  std::copy_n(row, 5, to[0] + 5 * r);
  if (!has_object) return;
  const Object& object = objects_[size_t(candidate.object)];
  to[1][r] = object.label;
  const BoxOffsets o = scale_.done(offsets(candidate.box, object.box, 1));
  const float numbers[4] = {o.x, o.y, o.w, o.h};
  const size_t first = r * size_t(numbers_) + 4 * (by_class_ ? size_t(object.label) : 1);
  std::copy_n(numbers, 4, to[2] + first);
  const bool counts = candidate.overlap >= param_.bbox_thr_lw() && candidate.overlap <= param_.bbox_thr_hg();
  for (const size_t weights : {3, 4}) std::fill_n(to[weights] + first, 4, counts ? 1.0f : 0.0f);
  const float match[6] = {object.label, object.box.x0, object.box.y0, object.box.x1, object.box.y1, candidate.overlap};
  std::copy_n(match, 6, to[5] + 6 * r);
}

void ProposalTargetLayer::write_weights(float* to) const {
  const float background = float(good_.size()), share = param_.fg_fraction();
  const float all = float(with_object_.size()) + background;
  float objects = 0;
  for (size_t i = 0; i < with_object_.size(); ++i) {
    to[i] = param_.iou_weighted() ? candidates_[with_object_[i]].overlap : 1;
    objects += to[i];
  }
  for (size_t i = 0; i < with_object_.size(); ++i) to[i] *= share * all / objects;
  std::fill_n(to + with_object_.size(), good_.size(), objects > 0 ? (1 - share) * all / background : 1);
}

void ProposalTargetLayer::forward(Context& context, const Operands& io) {
  const HostView regions(context, io.x[0].f32(), 5 * regions_), rows(context, io.x[1].f32(), row_width_ * rows_);
  float* to[7] = {};
  for (int k = 0; k < tops_; ++k) {
    to[k] = stages_[k].begin(context, io.y[size_t(k)].f32(), io.y[size_t(k)].count());
    std::fill_n(to[k], io.y[size_t(k)].count(), 0.0f);
  }
  gather(regions.data(), rows.data());
  sort_out();
  RandomStream stream(mix_key(mix_key(context.seed, layer_seed_), context.pass));
  take(stream);
  for (size_t i = 0; i < with_object_.size(); ++i) write(i, candidates_[with_object_[i]], true, to);
  for (size_t i = 0; i < good_.size(); ++i) write(with_object_.size() + i, candidates_[good_[i]], false, to);
  if (tops_ > 6) write_weights(to[6]);
  live_ = int64_t(with_object_.size() + good_.size());
  for (int k = 0; k < tops_; ++k) stages_[k].commit(context);
}

void ProposalTargetLayer::validate(Context& context, const Operands& io) {
  const HostView regions(context, io.x[0].f32(), 5 * regions_), rows(context, io.x[1].f32(), row_width_ * rows_);
  const std::string images = "num_img_per_batch is " + std::to_string(param_.num_img_per_batch());
  for (int64_t r = 0; r < regions_; ++r)
    if (const float image = regions.data()[5 * r]; !valid_image(image))
      throw Error(ExitCode::kData, "region " + std::to_string(r) + " is of image " + to_text(image), images);
  for (int64_t g = 0; g < rows_; ++g)
    if (const float* row = rows.data() + row_width_ * g; !is_unused(row) && !valid_object(row))
      throw Error(ExitCode::kData,
                  "object " + std::to_string(g) + " is of image " + to_text(row[0]) + " and class " + to_text(row[5]),
                  images + ", cls_num " + std::to_string(param_.cls_num()));
}

const RegisterLayer register_proposal_target({
    .name = "ProposalTarget",
    .help = "samples regions for a second stage, and their targets",
    .options = "proposal_target_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 6,
    .max_tops = 7,
    .make = make_layer<ProposalTargetLayer>,
});

}  // namespace

}  // namespace cortado

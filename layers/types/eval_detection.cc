// EvalDetection: evaluates YOLO's boxes. For each image y is the number of objects of each class, then four numbers for
// each detected box: its class, its score, 1 for a true positive, 1 for a false positive; then zeros.
//
// Boxes are processed class by class, best first. A box is matched with the object of its class that it overlaps most.
// It is correct if they overlap by at least threshold and the object was not matched before; else it is wrong. A
// difficult object is not counted, and a box that matches it is neither correct nor wrong. The score is the box's own
// (OBJ), its class's (PROB) or their product. With nms of 0 or more, boxes that overlap a better one of any class by
// more are dropped first.
//
// Two layers have this name. Without biases it is that of caffe-yolo, for YOLO v1: L = side side cells have, in this
// order, num_class probabilities, num_object scores and boxes of 4 (x and y in the cell with constriant; roots of width
// and height with sqrt), each number for all cells; bottom[1] has for all cells difficult, whether there is an object,
// its class, and then boxes of 4 cell by cell. With biases it is that of YOLO v2's ports: predictions of
// layers/common/detection/box_grid.h, and rows of class, x, y, width, height, which end at the first x = 0. Boxes that
// score less than 0.005 are dropped; side, sqrt and constriant have no effect. In those ports a box without a matching
// object is not wrong, and without nms nothing is detected; here it is as above. A third bottom, the images, is not
// read.

#include <algorithm>
#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/detection/box_grid.h"
#include "layers/common/detection/suppression.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr float kLeastScore = 0.005f;  // as in YOLO v2

class EvalDetectionLayer : public Layer {
 public:
  explicit EvalDetectionLayer(const LayerOptions& options);

  LayerShapes infer(const std::vector<Shape>& x) override;
  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }
  void forward(Context& context, const Operands& io) override;
  void validate(Context& context, const Operands& io) override;
  bool differentiable(int) const override { return false; }
  LayerRoles roles() override { return {.needs_host = true}; }

 private:
  struct Known {
    Box box;
    float label;
    bool difficult;
    bool found = false;
  };

  bool names_class(float label) const {
    return label >= 0 && label < float(options_.num_class()) && label == std::floor(label);
  }
  float score(float own, float of_class) const;
  void settle_cells(const std::vector<Shape>& x);
  void read_known(const float* labels);
  void read_known_of_cells(const float* labels);
  void find_in_cells(const float* x);
  void find_in_grid(const float* x, int64_t image);
  void add(const CentreBox& box, float score, int64_t label);
  std::vector<int> kept() const;
  float* judge(int found, float* to);
  void write(float* to);

  const caffe::EvalDetectionParameter& options_;
  bool by_anchors_;
  std::vector<float> anchors_;
  std::vector<int32_t> chosen_;
  BoxGrid grid_{};
  int64_t cells_ = 0, boxes_of_cell_, images_ = 0, width_ = 0, label_count_ = 0;
  HostStage stage_;
  std::vector<Known> known_;  ///< of the current image, like those below
  std::vector<Box> boxes_;
  std::vector<float> scores_;
  std::vector<int64_t> labels_;
};

EvalDetectionLayer::EvalDetectionLayer(const LayerOptions& options)
    : options_(options.config.eval_detection_param()),
      by_anchors_(options_.biases_size() > 0),
      boxes_of_cell_(options_.num_object()) {
  const std::string param = "eval_detection_param";
  if (options_.num_class() == 0) throw FieldError(param + ".num_class", "it is 0, but must be 1 or more");
  if (options_.side() == 0 || options_.side() > 32767)
    throw FieldError(param + ".side", "it is " + std::to_string(options_.side()) + ", but must be 1 to 32767");
  if (!by_anchors_) return;
  anchors_ = anchors_of(options_.biases(), param + ".biases");
  chosen_ = chosen_anchors({}, param + ".biases", options_.biases_size() / 2, boxes_of_cell_);
}

LayerShapes EvalDetectionLayer::infer(const std::vector<Shape>& x) {
  if (by_anchors_) {
    grid_ = grid_of(x[0], 0, boxes_of_cell_, options_.num_class());
    cells_ = grid_.cells();
    images_ = grid_.images;
  } else {
    settle_cells(x);
  }
  const bool fits =
      x[1].axes() >= 1 && x[1][0] == images_ && (by_anchors_ ? x[1].count(1) % 5 == 0 : x[1].count(1) == 7 * cells_);
  if (!fits)
    throw FieldError("bottom[1]", "its shape is " + x[1].str(),
                     by_anchors_ ? "objects must be rows of 5 (class, x, y, width, height) for each image"
                                 : "each of the " + std::to_string(cells_) + " cells of an image needs 7 numbers");
  label_count_ = x[1].count(1);
  width_ = int64_t(options_.num_class()) + checked_mul(checked_mul(cells_, boxes_of_cell_), 4);
  return {.y = {{images_, width_}}, .w = {}};
}

void EvalDetectionLayer::settle_cells(const std::vector<Shape>& x) {
  cells_ = int64_t(options_.side()) * int64_t(options_.side());
  const int64_t wanted = checked_mul(cells_, int64_t(options_.num_class()) + 5 * boxes_of_cell_);
  if (x[0].axes() < 1 || x[0].count(1) != wanted)
    throw FieldError("bottom[0]", "its shape is " + x[0].str(),
                     std::to_string(cells_) + " cells of " + std::to_string(options_.num_class()) + " classes and " +
                         count_of(boxes_of_cell_, "box", "boxes") + " have " + std::to_string(wanted) +
                         " numbers for each image");
  images_ = x[0][0];
}

void EvalDetectionLayer::forward(Context& context, const Operands& io) {
  const HostView x(context, io.x[0].f32(), io.x[0].count()), labels(context, io.x[1].f32(), io.x[1].count());
  float* const y = stage_.begin(context, io.y[0].f32(), images_ * width_);
  for (int64_t image = 0; image < images_; ++image) {
    known_.clear();
    boxes_.clear();
    scores_.clear();
    labels_.clear();
    read_known(labels.data() + image * label_count_);
    if (by_anchors_)
      find_in_grid(x.data(), image);
    else
      find_in_cells(x.data() + image * io.x[0].shape().count(1));
    write(y + image * width_);
  }
  stage_.commit(context);
}

void EvalDetectionLayer::validate(Context& context, const Operands& io) {
  const HostView labels(context, io.x[1].f32(), io.x[1].count());
  for (int64_t image = 0; image < images_; ++image) {
    known_.clear();
    read_known(labels.data() + image * label_count_);
    for (const Known& known : known_)
      if (!names_class(known.label))
        throw Error(ExitCode::kData,
                    "an object of item " + std::to_string(image) + " has class " + to_text(known.label),
                    "classes are integers from 0 to " + std::to_string(options_.num_class() - 1));
  }
}

void EvalDetectionLayer::read_known(const float* labels) {
  if (!by_anchors_) return read_known_of_cells(labels);
  for (const float* row = labels; row != labels + label_count_ && row[1] != 0; row += 5)
    known_.push_back({corners_of({row[1], row[2], row[3], row[4]}), row[0], false});
}

void EvalDetectionLayer::read_known_of_cells(const float* labels) {
  for (int64_t cell = 0; cell < cells_; ++cell) {
    if (labels[cells_ + cell] == 0) continue;
    const float* box = labels + 3 * cells_ + 4 * cell;
    known_.push_back({corners_of({box[0], box[1], box[2], box[3]}), labels[2 * cells_ + cell], labels[cell] == 1});
  }
}

float EvalDetectionLayer::score(float own, float of_class) const {
  switch (options_.score_type()) {
    case caffe::EvalDetectionParameter::OBJ:
      return own;
    case caffe::EvalDetectionParameter::PROB:
      return of_class;
    default:
      return own * of_class;
  }
}

void EvalDetectionLayer::add(const CentreBox& box, float score, int64_t label) {
  boxes_.push_back(corners_of(box));
  scores_.push_back(score);
  labels_.push_back(label);
}

void EvalDetectionLayer::find_in_cells(const float* x) {
  const int64_t side = options_.side(), classes = options_.num_class();
  for (int64_t cell = 0; cell < cells_; ++cell) {
    int64_t label = 0;
    for (int64_t c = 1; c < classes; ++c)
      if (x[c * cells_ + cell] > x[label * cells_ + cell]) label = c;
    for (int64_t k = 0; k < boxes_of_cell_; ++k) {
      const float* box = x + (classes + boxes_of_cell_ + 4 * k) * cells_ + cell;
      CentreBox found = {box[0], box[cells_], box[2 * cells_], box[3 * cells_]};
      if (options_.constriant()) {
        found.x = (float(cell % side) + found.x) / float(side);
        found.y = (float(cell / side) + found.y) / float(side);
      }
      if (options_.sqrt()) found.w *= found.w, found.h *= found.h;
      add(found, score(x[(classes + k) * cells_ + cell], x[label * cells_ + cell]), label);
    }
  }
}

void EvalDetectionLayer::find_in_grid(const float* x, int64_t image) {
  const Anchors anchors = {anchors_.data(), int64_t(anchors_.size() / 2), chosen_.data(), 1};
  for (int64_t slot = 0; slot < grid_.slots(); ++slot) {
    const int64_t at = grid_.at(image, slot);
    const float* classes = x + at + 5 * cells_;
    int64_t label = 0;
    for (int64_t c = 1; c < grid_.classes; ++c)
      if (classes[c * cells_] > classes[label * cells_]) label = c;
    float sum = 0;
    for (int64_t c = 0; c < grid_.classes; ++c) sum += std::exp(classes[c * cells_] - classes[label * cells_]);
    const float sure = score(sigmoid_of(x[at + 4 * cells_]), 1 / sum);
    if (sure >= kLeastScore) add(grid_.box(x, at, slot, anchors), sure, label);
  }
}

/// The indices of the boxes to evaluate: class by class, best first.
std::vector<int> EvalDetectionLayer::kept() const {
  std::vector<int> order = best_first(scores_.data(), int64_t(scores_.size()), -INFINITY, -1);
  if (options_.nms() >= 0) order = suppress(boxes_.data(), order, {.threshold = options_.nms()});
  std::stable_sort(order.begin(), order.end(),
                   [this](int a, int b) { return labels_[size_t(a)] < labels_[size_t(b)]; });
  return order;
}

/// Writes the four numbers of a box.
float* EvalDetectionLayer::judge(int found, float* to) {
  Known* best = nullptr;
  float most = -1;
  for (Known& known : known_) {
    if (known.label != float(labels_[size_t(found)])) continue;
    const float overlap = box_overlap(boxes_[size_t(found)], known.box);
    if (overlap > most) best = &known, most = overlap;
  }
  const bool finds = best && most >= options_.threshold(), neither = finds && best->difficult;
  const bool right = finds && !neither && !best->found;
  if (right) best->found = true;
  *to++ = float(labels_[size_t(found)]);
  *to++ = scores_[size_t(found)];
  *to++ = right ? 1 : 0;
  *to++ = right || neither ? 0 : 1;
  return to;
}

void EvalDetectionLayer::write(float* to) {
  float* const end = to + width_;
  if (!std::all_of(known_.begin(), known_.end(), [this](const Known& k) { return names_class(k.label); })) {
    std::fill(to, end, NAN);
    return;
  }
  std::fill(to, end, 0.0f);
  for (const Known& known : known_)
    if (!known.difficult) to[int64_t(known.label)] += 1;
  to += options_.num_class();
  for (const int found : kept()) to = judge(found, to);
}

const RegisterLayer register_eval_detection({
    .name = "EvalDetection",
    .help = "evaluates YOLO's boxes",
    .options = "eval_detection_param",
    .min_bottoms = 2,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<EvalDetectionLayer>,
    .kind = LayerKind::kScore,
});

}  // namespace

}  // namespace cortado

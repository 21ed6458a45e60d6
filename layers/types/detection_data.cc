// DetectionData (Cascade R-CNN): images, the label maps of a detector's branches, and the objects in the images. Images
// and objects come from a window file with DIFFICULT (data/sources/object_file.h). Tops are
//   images N x 3 x H x W, BGR, minus transform_param.mean_value and times its scale
//   for each stride labels N x 6 x h x w (common/branch_labels.h); h and w are H and W divided by stride, rounded
//   with output_gt_boxes G x 8 x 1 x 1: index of the image in the batch, x1, y1, x2, y2, class, whether it is ignored,
//     and difficult. G is N times the largest number of objects in an image; unused rows come last, all -1
//
// An image is distorted (distort_param), mirrored (transform_param.mirror) with probability 1/2, and resized: to
// resize_width x resize_height; by resize_ratio; or so that its shorter side is short_size. The sample's size is
// crop_width x crop_height; crop_short_size x crop_long_size in the orientation of the image; resize_width x
// resize_height; short_size x long_size in its orientation; or that of the image. One of template_ratio, drawn for each
// image, multiplies short_size and long_size, which are rounded to the nearest multiple of 32. A sample shows the image
// around a randomly drawn object, or a random part if it has none, jittered by up to 10 pixels; a smaller image is near
// the middle, padded with 0. With min_scale and max_scale, or low_scale_ratio and high_scale_ratio, the fraction
// multiscale_prob of the images is rescaled: so that the drawn object's side (the root of its area) is between
// min_scale and max_scale, or by a factor between the ratios; min_whaspect and max_whaspect change the ratio of width
// to height as well. Logarithms are drawn uniformly.
//
// Cascade R-CNN's tops have the size of the first image's sample. Here all have the largest size that the options
// permit, or that the file lists; a sample is at the upper left, padded with 0, where labels are ignored.
//
// Objects are ignored if the file marks them so, if they are lower than min_gt_height or narrower than min_gt_width, or
// if their centre lies outside the sample. A position is assigned the object with which its template, field_w x
// field_h, has the largest overlap, if that exceeds fg_threshold; an ignored object yields class 0. The overlap is 1
// and all other values are 0 where the position lies outside the image; where the template extends out of it by more
// than half anchor_ignore_margin_ratio of its side, or, if that is not set, less than anchor_ignore_iou_thr of it is
// inside; and where ignore_fg_threshold of a template without an object lies in ignored regions. An object without a
// position that overlaps a template by pickup_iou_thr or more is assigned the position at its centre in that template's
// branch, unless another object has it. Sides are a pixel longer than the difference of corners.
//
// If shuffle is set, the order of images is drawn in each epoch: random; random_aspect, with all images that are at
// least as high as wide before the others, or after them; random_mix_aspect, with mix_group_size images of either kind
// in turn. All of this is random in both phases. The choice of the image and all draws for it are a function of (seed,
// position). forward() reads the files itself.

#include <algorithm>
#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "data/augment/augment_options.h"
#include "data/pipeline/pipeline_options.h"
#include "layers/common/data/record_layer.h"
#include "layers/common/detection/keep_some.h"
#include "layers/registry.h"
#include "layers/types/object_images.h"

namespace cortado {

namespace {

constexpr uint64_t kDetectionDataKey = 0x44455444415441ull;  // separates these draws from others with the same seed
constexpr uint64_t kDetectionOrderKey = 0x4445544F524452ull;
constexpr uint32_t kDetectionDataMostImages = 1 << 16;
constexpr int kDetectionDataNoise = 10, kDetectionDataMultiple = 32;
const std::string kDetectionDataOwn = "detection_data_param.";

struct DetectionDataSize {
  int height = 0, width = 0;
};

/// A random number between two, by logarithm.
struct LogRange {
  float low = 1, high = 1;
  float draw(RandomStream& stream) const { return low * std::pow(high / low, stream.uniform()); }
};

class DetectionDataLayer : public RecordLayer {
 public:
  explicit DetectionDataLayer(const LayerOptions& options);

  LayerShapes infer(const std::vector<Shape>&) override;
  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }
  void forward(Context& context, const Operands& io) override;

 private:
  bool resizes() const { return param_.has_resize_width() && param_.has_resize_height(); }
  bool by_short_side() const { return param_.has_short_size() && param_.has_long_size(); }
  bool crops() const { return param_.crop_width() > 0 && param_.crop_height() > 0; }
  bool crops_by_orientation() const { return param_.has_crop_short_size() && param_.has_crop_long_size(); }
  void check_sizes() const;
  void check_numbers() const;
  void check_scales() const;
  int side(uint32_t size, float ratio) const;
  DetectionDataSize largest() const;
  DetectionDataSize sample_size(float ratio) const;
  void set_order(uint64_t epoch);
  size_t image_at(uint64_t position);
  float read(const data::ObjectImage& listed, uint64_t position, RandomStream& stream);
  void distort(uint64_t position);
  ObjectView draw_view(const DetectionDataSize& sample, RandomStream& stream) const;
  ObjectRule rule() const;

  const caffe::DetectionDataParameter& param_;
  const caffe::TransformationParameter& transform_;
  bool open_data_;
  uint64_t seed_;
  ObjectImages images_;
  PixelScale pixels_;
  data::DistortPlan distortion_;
  std::vector<ObjectBranch> branches_;
  std::optional<ObjectLabels> labels_;
  DetectionDataSize canvas_;       ///< of the tops; 0 x 0: unknown
  std::optional<uint64_t> epoch_;  ///< of order_
  std::vector<size_t> order_;      ///< of images
  SampleObjects seen_ = {};
  std::vector<HostStage> stages_;  ///< per top
};

DetectionDataLayer::DetectionDataLayer(const LayerOptions& options)
    : RecordLayer(options.share, int64_t(options.config.detection_data_param().batch_size())),
      param_(options.config.detection_data_param()),
      transform_(options.config.transform_param()),
      open_data_(options.open_data),
      seed_(options.seed),
      images_(param_.root_folder()),
      pixels_(pixel_scale(transform_)) {
  data::refuse_transforms_but({"mirror", "mean_value", "scale"}, transform_,
                              "DetectionData crops and resizes images itself", "use only mirror, mean_value and scale");
  if (param_.source().empty()) throw FieldError(kDetectionDataOwn + "source", "the window file is missing");
  require_between(kDetectionDataOwn + "batch_size", param_.batch_size(), 1, kDetectionDataMostImages);
  const std::string& shuffle = param_.shuffle();
  if (shuffle != "random" && shuffle != "random_aspect" && shuffle != "random_mix_aspect")
    throw FieldError(kDetectionDataOwn + "shuffle",
                     "it is '" + shuffle + "', but must be random, random_aspect or random_mix_aspect");
  check_sizes();
  check_numbers();
  check_scales();
  if (param_.has_distort_param())
    distortion_ = data::make_distort_plan(param_.distort_param(), kDetectionDataOwn + "distort_param.");
  branches_ = object_branches(param_.stride(), kDetectionDataOwn + "stride", param_.field_w(), param_.field_h(),
                              kDetectionDataOwn);
  const int tops = 1 + param_.stride_size() + int(param_.output_gt_boxes());
  if (options.config.top_size() != tops)
    throw FieldError(
        "top", "there are " + std::to_string(options.config.top_size()) + " tops, but must be " + std::to_string(tops),
        "list the images, the labels of each stride, and with output_gt_boxes the objects");
}

void DetectionDataLayer::check_sizes() const {
  const auto require_side = [](const std::string& name, uint32_t side) {
    require_between(kDetectionDataOwn + name, side, 1, kObjectMostSide);
  };
  const int ways = int(resizes()) + int(param_.has_resize_ratio()) + int(by_short_side());
  if (ways > 1)
    throw FieldError("detection_data_param", "several sizes of images are set",
                     "set one of: resize_width and resize_height; resize_ratio; short_size and long_size");
  if (resizes())
    require_side("resize_width", param_.resize_width()), require_side("resize_height", param_.resize_height());
  if (by_short_side()) {
    require_side("short_size", param_.short_size()), require_side("long_size", param_.long_size());
    if (param_.long_size() < param_.short_size())
      throw FieldError(
          kDetectionDataOwn + "long_size",
          "it is " + std::to_string(param_.long_size()) + ", but short_size is " + std::to_string(param_.short_size()));
  }
  if (param_.has_resize_ratio() && !(param_.resize_ratio() > 0 && param_.resize_ratio() <= kObjectMostScaling))
    throw FieldError(kDetectionDataOwn + "resize_ratio",
                     "it is " + to_text(param_.resize_ratio()) + ", but must be above 0");
  for (const float ratio : param_.template_ratio())
    if (!(ratio > 0 && ratio <= kObjectMostScaling))
      throw FieldError(kDetectionDataOwn + "template_ratio", "it is " + to_text(ratio) + ", but must be above 0");
  if (crops()) require_side("crop_width", param_.crop_width()), require_side("crop_height", param_.crop_height());
  if (crops_by_orientation()) {
    require_side("crop_short_size", param_.crop_short_size());
    require_side("crop_long_size", param_.crop_long_size());
    if (crops())
      throw FieldError(kDetectionDataOwn + "crop_short_size", "crop_width is set as well",
                       "set either crop_width and crop_height or crop_short_size and crop_long_size");
  }
}

void DetectionDataLayer::check_numbers() const {
  if (param_.coord_num() != 4)
    throw FieldError(kDetectionDataOwn + "coord_num", "it is " + std::to_string(param_.coord_num()),
                     "set 4: a box has 4 coordinates");
  if (!(param_.fg_threshold() > 0 && param_.fg_threshold() < 1))
    throw FieldError(kDetectionDataOwn + "fg_threshold",
                     "it is " + to_text(param_.fg_threshold()) + ", but must be above 0 and below 1");
  if (param_.mix_group_size() == 0) throw FieldError(kDetectionDataOwn + "mix_group_size", "it is 0");
  const std::pair<float, const char*> numbers[] = {{param_.ignore_fg_threshold(), "ignore_fg_threshold"},
                                                   {param_.multiscale_prob(), "multiscale_prob"},
                                                   {param_.min_gt_width(), "min_gt_width"},
                                                   {param_.min_gt_height(), "min_gt_height"},
                                                   {param_.anchor_ignore_margin_ratio(), "anchor_ignore_margin_ratio"},
                                                   {param_.anchor_ignore_iou_thr(), "anchor_ignore_iou_thr"},
                                                   {param_.pickup_iou_thr(), "pickup_iou_thr"}};
  for (const auto& [value, name] : numbers)
    if (!std::isfinite(value)) throw FieldError(kDetectionDataOwn + name, "it is " + to_text(value));
}

void DetectionDataLayer::check_scales() const {
  const auto require = [](bool set, float low, float high, const std::string& name, const std::string& high_name) {
    if (!set) return;
    if (!(low > 0 && std::isfinite(low)))
      throw FieldError(kDetectionDataOwn + name, "it is " + to_text(low) + ", but must be above 0");
    if (!(high >= low && high / low <= kObjectMostScaling))
      throw FieldError(kDetectionDataOwn + high_name,
                       "it is " + to_text(high) + ", but " + name + " is " + to_text(low),
                       "set a range up to a ratio of 1 to " + to_text(kObjectMostScaling));
  };
  const bool sides = param_.has_min_scale() && param_.has_max_scale();
  const bool ratios = param_.has_low_scale_ratio() && param_.has_high_scale_ratio();
  if (sides && ratios)
    throw FieldError(kDetectionDataOwn + "low_scale_ratio", "min_scale is set as well",
                     "set either min_scale and max_scale or low_scale_ratio and high_scale_ratio");
  require(sides, param_.min_scale(), param_.max_scale(), "min_scale", "max_scale");
  require(ratios, param_.low_scale_ratio(), param_.high_scale_ratio(), "low_scale_ratio", "high_scale_ratio");
  require(param_.has_min_whaspect() && param_.has_max_whaspect(), param_.min_whaspect(), param_.max_whaspect(),
          "min_whaspect", "max_whaspect");
}

/// A side of short_size or long_size.
int DetectionDataLayer::side(uint32_t size, float ratio) const {
  const long multiples = std::lround(float(size) * ratio / kDetectionDataMultiple);
  return int(std::clamp<long>(multiples * kDetectionDataMultiple, kDetectionDataMultiple, kObjectMostSide));
}

/// The size of the tops.
DetectionDataSize DetectionDataLayer::largest() const {
  if (crops()) return {int(param_.crop_height()), int(param_.crop_width())};
  const auto square = [](uint32_t a, uint32_t b) {
    return DetectionDataSize{int(std::max(a, b)), int(std::max(a, b))};
  };
  if (crops_by_orientation()) return square(param_.crop_short_size(), param_.crop_long_size());
  if (resizes()) return {int(param_.resize_height()), int(param_.resize_width())};
  if (by_short_side()) {
    float ratio = param_.template_ratio().empty() ? 1 : 0;
    for (const float one : param_.template_ratio()) ratio = std::max(ratio, one);
    const int most = side(param_.long_size(), ratio);
    return {most, most};
  }
  DetectionDataSize most;
  if (!images_.is_open()) return most;
  for (const data::ObjectImage& listed : images_.file().images) {
    const float ratio = param_.has_resize_ratio() ? param_.resize_ratio() : 1;
    const double height = std::round(double(listed.height) * ratio), width = std::round(double(listed.width) * ratio);
    if (std::max(height, width) > kObjectMostSide)
      images_.fail(listed, "it is listed as larger than " + std::to_string(kObjectMostSide) + " pixels", "");
    most = {std::max(most.height, int(height)), std::max(most.width, int(width))};
  }
  return most;
}

/// The size of the sample of the current image.
DetectionDataSize DetectionDataLayer::sample_size(float ratio) const {
  const data::Image& image = images_.image();
  const auto oriented = [&](int shorter, int longer) {
    return image.height >= image.width ? DetectionDataSize{longer, shorter} : DetectionDataSize{shorter, longer};
  };
  DetectionDataSize size = {image.height, image.width};
  if (crops())
    size = canvas_;
  else if (crops_by_orientation())
    size = oriented(int(param_.crop_short_size()), int(param_.crop_long_size()));
  else if (by_short_side())
    size = oriented(side(param_.short_size(), ratio), side(param_.long_size(), ratio));
  return {std::min(size.height, canvas_.height), std::min(size.width, canvas_.width)};
}

ObjectRule DetectionDataLayer::rule() const {
  ObjectRule rule = {.fg_threshold = param_.fg_threshold(),
                     .in_regions = param_.ignore_fg_threshold(),
                     .least_match = param_.pickup_iou_thr(),
                     .border = 1,
                     .objects_first = true,
                     .labels_overlap = true};
  if (param_.has_anchor_ignore_margin_ratio()) rule.margin = param_.anchor_ignore_margin_ratio();
  if (param_.has_anchor_ignore_iou_thr()) rule.least_inside = param_.anchor_ignore_iou_thr();
  return rule;
}

LayerShapes DetectionDataLayer::infer(const std::vector<Shape>&) {
  if (open_data_ && !images_.is_open()) images_.open(param_.source(), true, param_.batch_size());
  canvas_ = largest();
  const bool known = canvas_.height > 0;
  const int64_t batch = param_.batch_size();
  if (known) set_places(branches_, kDetectionDataOwn + "stride", canvas_.height, canvas_.width);
  labels_.emplace(branches_, rule());
  LayerShapes shapes;
  shapes.y.push_back(known ? Shape{batch, 3, canvas_.height, canvas_.width} : Shape{-1});
  for (const ObjectBranch& branch : branches_)
    shapes.y.push_back(known ? Shape{batch, 6, branch.height, branch.width} : Shape{-1});
  if (param_.output_gt_boxes()) shapes.y.push_back(images_.rows_shape(batch, 8));
  return shapes;
}

/// The order of images in an epoch.
void DetectionDataLayer::set_order(uint64_t epoch) {
  if (epoch_ == epoch) return;
  epoch_ = epoch;
  const auto& listed = images_.file().images;
  RandomStream stream(mix_key(mix_key(seed_, kDetectionOrderKey), epoch));
  const bool by_aspect = param_.shuffle() != "random";
  std::vector<size_t> kinds[2];
  for (size_t i = 0; i < listed.size(); ++i) kinds[by_aspect && listed[i].height < listed[i].width].push_back(i);
  if (param_.has_shuffle())
    for (std::vector<size_t>& kind : kinds) shuffle(kind, stream);
  const size_t first = by_aspect ? size_t(stream.below(2)) : 0, group = param_.mix_group_size();
  const bool mixes = param_.shuffle() == "random_mix_aspect";
  order_.clear();
  size_t taken[2] = {0, 0};
  for (size_t turn = first; order_.size() < listed.size(); turn = 1 - turn) {
    std::vector<size_t>& kind = kinds[turn];
    const bool alone = taken[1 - turn] == kinds[1 - turn].size();
    const size_t count = std::min(mixes && !alone ? group : kind.size(), kind.size() - taken[turn]);
    order_.insert(order_.end(), kind.begin() + int64_t(taken[turn]), kind.begin() + int64_t(taken[turn] + count));
    taken[turn] += count;
  }
}

size_t DetectionDataLayer::image_at(uint64_t position) {
  const uint64_t count = images_.file().images.size();
  if (!param_.has_shuffle()) return size_t(position % count);
  set_order(position / count);
  return order_[size_t(position % count)];
}

/// Reads the image and its objects, and resizes both. Returns the factor of the sample.
float DetectionDataLayer::read(const data::ObjectImage& listed, uint64_t position, RandomStream& stream) {
  images_.read(listed);
  distort(position);
  const bool mirrored = transform_.mirror() && stream.below(2) == 1;
  if (mirrored) images_.mirror();
  const int height = images_.image().height, width = images_.image().width;
  const int ratios = param_.template_ratio_size();
  const float ratio = ratios == 0 ? 1 : param_.template_ratio(int(stream.below(uint64_t(ratios))));
  double factor = param_.has_resize_ratio() ? param_.resize_ratio() : 1;
  if (by_short_side()) factor = double(side(param_.short_size(), ratio)) / std::min(height, width);
  const auto scaled = [&](int length) {
    return int(std::clamp<double>(std::round(length * factor), 1, kObjectMostSide));
  };
  if (resizes())
    images_.resize(int(param_.resize_height()), int(param_.resize_width()));
  else
    images_.resize(scaled(height), scaled(width));
  images_.place(listed, height, width, mirrored, seen_);
  return ratio;
}

void DetectionDataLayer::distort(uint64_t position) {
  const data::Distortion colors = draw_distortion(distortion_, {mix_key(seed_, kDetectionDataKey), 0, position});
  for (const data::ColorMatrix& m : colors) {
    std::vector<uint8_t>& pixels = images_.image().pixels;
    for (size_t i = 0; i + 2 < pixels.size(); i += 3) {
      const double x[3] = {double(pixels[i]), double(pixels[i + 1]), double(pixels[i + 2])};
      for (size_t c = 0; c < 3; ++c) {
        const double* row = m.v + 4 * c;
        const double value = row[0] * x[0] + row[1] * x[1] + row[2] * x[2] + row[3];
        pixels[i + c] = uint8_t(std::clamp(value + 0.5, 0.0, 255.0));
      }
    }
  }
}

ObjectView DetectionDataLayer::draw_view(const DetectionDataSize& sample, RandomStream& stream) const {
  const data::Image& image = images_.image();
  const auto below = [&stream](int n) { return int(stream.below(uint64_t(n))); };
  const auto middle = [&](int length, int target) {
    return target > length ? float(length) / 2 : float(below(length - target + 1)) + float(target) / 2;
  };
  float x, y, factor = 1, factor_x = 1, factor_y = 1;
  Box drawn;
  if (!seen_.objects.empty()) {
    drawn = seen_.objects[size_t(stream.below(seen_.objects.size()))].box;
    x = (drawn.x0 + drawn.x1) / 2, y = (drawn.y0 + drawn.y1) / 2;
  } else {
    x = middle(image.width, sample.width), y = middle(image.height, sample.height);
  }
  const bool by_side = param_.has_min_scale() && param_.has_max_scale() && !seen_.objects.empty();
  const bool by_ratio = param_.has_low_scale_ratio() && param_.has_high_scale_ratio();
  if (stream.uniform() < param_.multiscale_prob() && (by_side || by_ratio)) {
    factor = by_side ? LogRange{param_.min_scale(), param_.max_scale()}.draw(stream) / std::sqrt(box_area(drawn, 1))
                     : LogRange{param_.low_scale_ratio(), param_.high_scale_ratio()}.draw(stream);
    const bool stretches = param_.has_min_whaspect() && param_.has_max_whaspect();
    const float aspect = stretches ? LogRange{param_.min_whaspect(), param_.max_whaspect()}.draw(stream) : 1;
    const auto limited = [](float f) { return std::clamp(f, 1 / kObjectMostScaling, kObjectMostScaling); };
    factor_x = limited(factor * std::sqrt(aspect)), factor_y = limited(factor / std::sqrt(aspect));
  }
  const int noise_x = below(2 * kDetectionDataNoise) - kDetectionDataNoise;
  const int noise_y = below(2 * kDetectionDataNoise) - kDetectionDataNoise;
  return {view_axis(image.width, sample.width, x, factor_x, noise_x),
          view_axis(image.height, sample.height, y, factor_y, noise_y)};
}

void DetectionDataLayer::forward(Context& context, const Operands& io) {
  stages_.resize(io.y.size());
  const size_t branches = branches_.size();
  std::vector<float*> to;
  for (size_t i = 0; i < io.y.size(); ++i) {
    to.push_back(stages_[i].begin(context, io.y[i].f32(), io.y[i].count()));
    std::fill_n(to[i], io.y[i].count(), i > branches ? -1.0f : 0.0f);
  }
  const int64_t batch = param_.batch_size();
  for (int64_t n = 0; n < batch; ++n) {
    const uint64_t place = cursor_.place() + uint64_t(n);
    const data::ObjectImage& listed = images_.file().images[image_at(place)];
    RandomStream stream(mix_key(mix_key(seed_, kDetectionDataKey), place));
    const float ratio = read(listed, place, stream);
    const DetectionDataSize sample = sample_size(ratio);
    const ObjectView view = draw_view(sample, stream);
    show_objects(view, sample.height, sample.width, {param_.min_gt_height(), param_.min_gt_width()}, seen_);
    images_.cut(view, pixels_, canvas_.height, canvas_.width, to[0] + n * (io.y[0].count() / batch));
    std::vector<float*> labels;
    for (size_t i = 1; i <= branches; ++i) labels.push_back(to[i] + n * (io.y[i].count() / batch));
    labels_->write(seen_, labels);
    if (param_.output_gt_boxes()) to[branches + 1] = write_objects(seen_, n, to[branches + 1]);
  }
  for (HostStage& stage : stages_) stage.commit(context);
  cursor_.advance();
}

const RegisterLayer register_detection_data({
    .name = "DetectionData",
    .help = "images, the label maps of a detector's branches, and the objects (Cascade R-CNN)",
    .options = "detection_data_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = -1,
    .make = make_layer<DetectionDataLayer>,
    .kind = LayerKind::kData,
});

}  // namespace

}  // namespace cortado

// ImageGtData (MS-CNN): images, the label maps of a detector's branches, and the objects in the images. Images and
// objects come from a window file (data/sources/object_file.h). Tops are
//   images N x 3 x H x W, BGR, minus mean_value
//   for each branch labels N x 6 x h x w (common/branch_labels.h): the class, the x and y of the object's centre, its
//     width and height, the overlap; h and w are H and W divided by downsample_rate, rounded
//   with output_gt_boxes G x 7 x 1 x 1: index of the image in the batch, x1, y1, x2, y2, class, whether it is ignored.
//     All objects of an image come in the file's order, including those outside the crop. MS-CNN has one row per
//     object. Here G is N times the largest number of objects in an image; unused rows come last, with class 0 and
//     ignored
//
// An image is mirrored (transform_param.mirror) with probability 1/2 and resized to resize_width x resize_height, if
// both are set. A sample is a crop of crop_width x crop_height around a randomly drawn object, or a random crop if the
// image has no objects. The crop's centre is jittered by up to 10 pixels, and the crop never extends beyond the image.
// With do_multiple_scale half of the images are rescaled so that the drawn object's side (the root of its area) lies
// between min_scale and max_scale pixels (object_view.h). An image smaller than the sample is placed near the middle,
// padded with 0. As in MS-CNN, all of this is random in both phases. min_scale and max_scale have no effect without
// do_multiple_scale.
//
// Objects are ignored if the file marks them so, if they are lower than min_gt_height or narrower than min_gt_width
// (counting the last pixel), or if their centre lies outside the crop. A position is assigned the object with which its
// template, field_w x field_h, has the largest overlap, if that exceeds fg_threshold; an ignored object yields class 0.
// The overlap is 1 and all other values are 0 where the position lies outside the image, or where 0.4 of the template
// lies in ignored regions. An object without a position that overlaps a template by 0.2 or more is assigned the
// position at its centre in that template's branch, unless another object has it.
//
// The choice of the image and all draws for it are a function of (seed, position). forward() reads the files itself:
// the pipeline of other data layers has one label per sample and crops independently of it.

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "data/pipeline/pipeline_options.h"
#include "data/shuffled_order.h"
#include "layers/common/data/record_layer.h"
#include "layers/registry.h"
#include "layers/types/object_images.h"
#include "layers/types/object_labels.h"
#include "layers/types/object_view.h"

namespace cortado {

namespace {

constexpr uint64_t kObjectKey = 0x494D4741474554ull;  // separates these draws from others with the same seed
constexpr uint32_t kMaxSide = kObjectMostSide, kMaxImages = 1 << 16;
constexpr float kMaxScaling = kObjectMostScaling;
constexpr int kNoise = 10;
const std::string kImageGtDataOwn = "image_gt_data_param.";

struct ImageGtDataSize {
  int width = 0, height = 0;
};

uint32_t require_in(const std::string& field, uint32_t value, uint32_t least, uint32_t most) {
  return require_between(kImageGtDataOwn + field, value, least, most);
}

/// 0 x 0: images are not resized.
ImageGtDataSize resize_of(const caffe::ImageGtDataParameter& param) {
  if (!param.has_resize_width() && !param.has_resize_height()) return {};
  return {int(require_in("resize_width", param.resize_width(), 1, kMaxSide)),
          int(require_in("resize_height", param.resize_height(), 1, kMaxSide))};
}

int sample_side(const std::string& name, uint32_t crop, int resize) {
  if (crop == 0 && resize > 0) return resize;
  require_in("crop_" + name, crop, 1, kMaxSide);
  if (resize > 0 && int(crop) > resize)
    throw FieldError(kImageGtDataOwn + "crop_" + name,
                     "it is " + std::to_string(crop) + ", but resize_" + name + " is " + std::to_string(resize),
                     "set a crop no larger than the resized image");
  return int(crop);
}

ImageGtDataSize sample_of(const caffe::ImageGtDataParameter& param, const ImageGtDataSize& resize) {
  return {sample_side("width", param.crop_width(), resize.width),
          sample_side("height", param.crop_height(), resize.height)};
}

std::vector<ObjectBranch> branches_of(const caffe::ImageGtDataParameter& param, const ImageGtDataSize& sample) {
  const std::string rate = kImageGtDataOwn + "downsample_rate";
  if (param.downsample_rate_size() == 0) throw FieldError(rate, "it is missing", "set one for each branch");
  std::vector<ObjectBranch> branches =
      object_branches(param.downsample_rate(), rate, param.field_w(), param.field_h(), kImageGtDataOwn);
  set_places(branches, rate, sample.height, sample.width);
  return branches;
}

ObjectScales scales_of(const caffe::ImageGtDataParameter& param) {
  if (!param.do_multiple_scale()) return {};
  require_in("min_scale", param.min_scale(), 1, kMaxSide);
  const ObjectScales scales = {float(param.min_scale()), float(param.max_scale())};
  if (scales.most < scales.least || scales.most > kMaxScaling * scales.least)
    throw FieldError(
        kImageGtDataOwn + "max_scale",
        "it is " + std::to_string(param.max_scale()) + ", but min_scale is " + std::to_string(param.min_scale()),
        "set the largest and the smallest side of an object in pixels, at a ratio of 1 to " + to_text(kMaxScaling));
  return scales;
}

void check_transform(const caffe::TransformationParameter& param) {
  data::refuse_transforms_but({"mirror", "mean_value"}, param, "ImageGtData crops and resizes images itself",
                              "use only mirror and mean_value");
}

class ImageGtDataLayer : public RecordLayer {
 public:
  explicit ImageGtDataLayer(const LayerOptions& options);

  LayerShapes infer(const std::vector<Shape>&) override;
  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }
  void forward(Context& context, const Operands& io) override;

 private:
  void open();
  const data::ObjectImage& image_at(uint64_t position);
  void read(const data::ObjectImage& listed, RandomStream& stream);
  ObjectView draw_view(RandomStream& stream) const;
  void write_rows(int64_t n, float* to) const;

  const caffe::ImageGtDataParameter& param_;
  const caffe::TransformationParameter& transform_;
  ImageGtDataSize resize_, sample_;
  ObjectLabels labels_;
  ObjectScales scales_;
  bool open_data_;
  uint64_t seed_;
  std::optional<data::ShuffledOrder> order_;
  ObjectImages images_;
  PixelScale pixels_;
  SampleObjects seen_ = {};
  std::vector<HostStage> stages_;  ///< per top
};

ImageGtDataLayer::ImageGtDataLayer(const LayerOptions& options)
    : RecordLayer(options.share, int64_t(options.config.image_gt_data_param().batch_size())),
      param_(options.config.image_gt_data_param()),
      transform_(options.config.transform_param()),
      resize_(resize_of(param_)),
      sample_(sample_of(param_, resize_)),
      labels_(branches_of(param_, sample_), {.fg_threshold = param_.fg_threshold()}),
      scales_(scales_of(param_)),
      open_data_(options.open_data),
      seed_(options.seed),
      images_(param_.root_folder()) {
  check_transform(transform_);
  pixels_ = pixel_scale(transform_);
  if (param_.source().empty()) throw FieldError(kImageGtDataOwn + "source", "the window file is missing");
  require_in("batch_size", param_.batch_size(), 1, kMaxImages);
  if (param_.coord_num() != 4)
    throw FieldError(kImageGtDataOwn + "coord_num", "it is " + std::to_string(param_.coord_num()),
                     "set 4: a box has 4 coordinates");
  if (!(param_.fg_threshold() >= 0 && param_.fg_threshold() < 1))
    throw FieldError(kImageGtDataOwn + "fg_threshold",
                     "it is " + to_text(param_.fg_threshold()) + ", but must be in [0, 1)");
  if (std::isnan(param_.min_gt_height())) throw FieldError(kImageGtDataOwn + "min_gt_height", "it is not a number");
  if (std::isnan(param_.min_gt_width())) throw FieldError(kImageGtDataOwn + "min_gt_width", "it is not a number");
  const int tops = 1 + param_.downsample_rate_size() + int(param_.output_gt_boxes());
  if (options.config.top_size() != tops)
    throw FieldError(
        "top", "there are " + std::to_string(options.config.top_size()) + " tops, but must be " + std::to_string(tops),
        "list the images, the labels of each downsample_rate, and with output_gt_boxes the objects");
}

LayerShapes ImageGtDataLayer::infer(const std::vector<Shape>&) {
  if (open_data_ && !images_.is_open()) open();
  const int64_t batch = param_.batch_size();
  LayerShapes shapes;
  shapes.y.push_back({batch, 3, sample_.height, sample_.width});
  for (const ObjectBranch& branch : labels_.branches()) shapes.y.push_back({batch, 6, branch.height, branch.width});
  if (param_.output_gt_boxes()) shapes.y.push_back(images_.rows_shape(batch, 7));
  return shapes;
}

void ImageGtDataLayer::open() {
  images_.open(param_.source(), false, param_.batch_size());
  const size_t count = images_.file().images.size();
  if (param_.shuffle()) order_.emplace(count, count, 1, seed_);
}

const data::ObjectImage& ImageGtDataLayer::image_at(uint64_t position) {
  const uint64_t count = images_.file().images.size(), index = position % count;
  return images_.file().images[size_t(order_ ? order_->at(position / count, index) : index)];
}

/// Reads the image and its objects, before it is cropped.
void ImageGtDataLayer::read(const data::ObjectImage& listed, RandomStream& stream) {
  images_.read(listed);
  const bool mirrored = transform_.mirror() && stream.below(2) == 1;
  if (mirrored) images_.mirror();
  const int height = images_.image().height, width = images_.image().width;
  if (resize_.width > 0) images_.resize(resize_.height, resize_.width);
  const data::Image& image = images_.image();
  if (image.width < sample_.width || image.height < sample_.height)
    images_.fail(listed,
                 "the image is " + std::to_string(image.width) + " x " + std::to_string(image.height) +
                     ", smaller than crop_width x crop_height",
                 "set resize_width and resize_height, or a smaller crop");
  images_.place(listed, height, width, mirrored, seen_);
}

ObjectView ImageGtDataLayer::draw_view(RandomStream& stream) const {
  const data::Image& image = images_.image();
  const auto below = [&stream](int n) { return int(stream.below(uint64_t(n))); };
  float x, y, factor = 1;
  if (seen_.objects.empty()) {
    x = float(below(image.width - sample_.width + 1)) + float(sample_.width) / 2;
    y = float(below(image.height - sample_.height + 1)) + float(sample_.height) / 2;
  } else {
    const Box& box = seen_.objects[size_t(stream.below(seen_.objects.size()))].box;
    x = (box.x0 + box.x1) / 2, y = (box.y0 + box.y1) / 2;
    if (scales_.least > 0 && below(2) == 1) factor = draw_factor(scales_, box, stream);
  }
  const int noise_x = below(2 * kNoise) - kNoise, noise_y = below(2 * kNoise) - kNoise;
  return {view_axis(image.width, sample_.width, x, factor, noise_x),
          view_axis(image.height, sample_.height, y, factor, noise_y)};
}

/// Writes the objects of image n, one row each.
void ImageGtDataLayer::write_rows(int64_t n, float* to) const {
  for (const SampleObject& object : seen_.objects) {
    const Box& box = object.box;
    const float row[7] = {float(n), box.x0, box.y0, box.x1, box.y1, object.label, object.ignored ? 1.0f : 0.0f};
    to = std::copy_n(row, 7, to);
  }
}

void ImageGtDataLayer::forward(Context& context, const Operands& io) {
  stages_.resize(io.y.size());
  std::vector<float*> to;
  for (size_t i = 0; i < io.y.size(); ++i) {
    to.push_back(stages_[i].begin(context, io.y[i].f32(), io.y[i].count()));
    std::fill_n(to[i], io.y[i].count(), 0.0f);
  }
  const int64_t batch = param_.batch_size();
  const size_t branches = labels_.branches().size();
  int64_t rows = 0;
  for (int64_t n = 0; n < batch; ++n) {
    const uint64_t place = cursor_.place() + uint64_t(n);
    const data::ObjectImage& listed = image_at(place);
    RandomStream stream(mix_key(mix_key(seed_, kObjectKey), place));
    read(listed, stream);
    const ObjectView view = draw_view(stream);
    show_objects(view, sample_.height, sample_.width, {param_.min_gt_height(), param_.min_gt_width()}, seen_);
    images_.cut(view, pixels_, sample_.height, sample_.width, to[0] + n * (io.y[0].count() / batch));
    std::vector<float*> labels;
    for (size_t i = 1; i <= branches; ++i) labels.push_back(to[i] + n * (io.y[i].count() / batch));
    labels_.write(seen_, labels);
    if (!param_.output_gt_boxes()) continue;
    write_rows(n, to[branches + 1] + 7 * rows);
    rows += int64_t(seen_.objects.size());
  }
  if (param_.output_gt_boxes())
    for (; rows < batch * images_.most_objects(); ++rows) to[branches + 1][7 * rows + 6] = 1;
  for (HostStage& stage : stages_) stage.commit(context);
  cursor_.advance();
}

const RegisterLayer register_image_gt_data({
    .name = "ImageGtData",
    .help = "images, the label maps of a detector's branches, and the objects",
    .options = "image_gt_data_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 2,
    .max_tops = -1,
    .make = make_layer<ImageGtDataLayer>,
    .kind = LayerKind::kData,
});

}  // namespace

}  // namespace cortado

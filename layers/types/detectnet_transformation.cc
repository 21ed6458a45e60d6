// DetectNetTransformation (NVIDIA's Caffe): the images of DetectNet, changed at random, and the grid of the objects in
// them (types/detectnet_grid.h). Bottoms are images N x 3 x H x W, blue-green-red from 0 to 255, and DIGITS' lists of
// objects: for each image rows of 16 numbers. The first row is the number of objects, then 16. The others are objects:
// left, top, width and height in pixels, angle, class, and ten that are not read. Tops are images N x 3 x image_size_y
// x image_size_x, and grids N x (8 + classes) x H / stride x W / stride.
//
// In training, each change has its own probability, in this order:
//   the hue is rotated by up to hue_rotation degrees, and the saturation multiplied by 1 - u desaturation_max (both of
//   HSV); the mean is subtracted; the image is mirrored; scaled by scale_min to scale_max (cubic interpolation), and
//   rotated by up to max_rotate_degree around its centre (bilinear), whose result is large enough for all of it. The
//   crop's offset is uniform over the image and shift_x, shift_y more, half of them on either side; without crop_prob
//   the crop is central. Outside of the image, values are 0.
// Boxes move along: x becomes W - x - w - 1 in the mirror, and a rotation moves the centre of a box but not its sides.
// In tests, images and boxes are scaled to the size of the net. Earlier versions of NVIDIA's mirror after rotating, and
// have -127.5 outside of the image. Rotations have their sources at the centres of pixels here, as in the boxes.
//
// A draw is a function of (seed, layer, pass, image). For a list that is none, such as a number of objects above that
// of its rows, or NaN, the grid is NaN. On the host, without gradients.

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "data/formats/mean_file.h"
#include "data/pipeline/pipeline_options.h"
#include "layers/common/data/float_image.h"
#include "layers/registry.h"
#include "layers/types/detectnet_view.h"
#include "layers/types/object_images.h"

namespace cortado {

namespace {

constexpr int64_t kDetectNetNumbers = 16;       ///< of an object
constexpr double kDetectNetFarthest = 1 << 24;  ///< edges of boxes lie within

/// Rotates the hue and scales the saturation of a pixel of blue, green and red, by way of HSV.
void change_hue(float* bgr, float degrees, float saturation) {
  const float high = std::max({bgr[0], bgr[1], bgr[2]}), low = std::min({bgr[0], bgr[1], bgr[2]}), span = high - low;
  if (!(span > 0)) return;  // grey has no hue
  float hue = high == bgr[2]   ? (bgr[1] - bgr[0]) / span
              : high == bgr[1] ? 2 + (bgr[0] - bgr[2]) / span
                               : 4 + (bgr[2] - bgr[1]) / span;  // in sixths of the circle, from red over green
  hue = std::fmod(hue + degrees / 60 + 12, 6.0f);
  const float at[] = {4, 2, 0};  // blue, green, red
  for (int c = 0; c < 3; ++c) {
    const float away = std::fabs(hue - at[c]), distance = std::min(away, 6 - away);
    bgr[c] = high - span * saturation * std::clamp(distance - 1, 0.0f, 1.0f);
  }
}

class DetectNetTransformationLayer : public Layer {
 public:
  explicit DetectNetTransformationLayer(const LayerOptions& options);

  LayerShapes infer(const std::vector<Shape>& x) override;
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void validate(Context& context, const Operands& io) override;
  bool differentiable(int) const override { return false; }
  LayerRoles roles() override { return {.needs_host = true}; }

 private:
  const float* list_of(const HostView& lists, int64_t n) const { return lists.data() + n * rows_ * kDetectNetNumbers; }
  std::string error_in(const float* list) const;
  bool read_boxes(const float* list);
  void look(Context& context, const float* x, const DetectNetView& view, float* y);
  void subtract_mean();

  const caffe::DetectNetAugmentationParameter& augment_;
  const caffe::DetectNetGroundTruthParameter& truth_;
  bool training_;
  DetectNetGrid grid_;
  PixelScale means_;
  std::shared_ptr<const data::MeanImage> mean_file_;
  FloatImage mean_, image_, other_;  ///< mean_ has the size of the images, or is empty
  DetectNetSize size_ = {0, 0}, shown_;
  int64_t rows_ = 0;  ///< of a list
  uint64_t layer_seed_ = 0;
  std::vector<DetectNetBox> boxes_;
  HostStage images_, grids_;
};

DetectNetTransformationLayer::DetectNetTransformationLayer(const LayerOptions& options)
    : augment_(options.config.detectnet_augmentation_param()),
      truth_(options.config.detectnet_groundtruth_param()),
      training_(options.phase == caffe::TRAIN),
      grid_(truth_),
      means_(pixel_scale(options.config.transform_param())),
      shown_{truth_.image_size_y(), truth_.image_size_x()} {
  const caffe::TransformationParameter& param = options.config.transform_param();
  data::refuse_transforms_but({"mean_value", "mean_file"}, param, "DetectNetTransformation has options of its own",
                              "use mean_value or mean_file here, and detectnet_augmentation_param");
  mean_file_ = data::make_transform_plan(param, options.phase, options.open_data).mean;
  if (mean_file_ && mean_file_->channels != 3)
    throw FieldError("transform_param.mean_file",
                     "the mean has " + count_of(mean_file_->channels, "channel", "channels") + ", but images have 3");
}

LayerShapes DetectNetTransformationLayer::infer(const std::vector<Shape>& x) {
  if (x[0].axes() != 4 || x[0][1] != 3 || x[0].count(1) == 0)
    throw FieldError("bottom[0]", "its shape is " + x[0].str() + ", but images must be N x 3 x H x W");
  if (std::max(x[0][2], x[0][3]) > kObjectMostSide)
    throw FieldError("bottom[0]", "images of " + x[0].str() + " are too large");
  if (x[1].axes() < 1 || x[1][0] != x[0][0] || x[1].count(1) < kDetectNetNumbers ||
      x[1].count(1) % kDetectNetNumbers != 0)
    throw FieldError("bottom[1]", "its shape is " + x[1].str() + " for " + count_of(x[0][0], "image", "images"),
                     "each image needs rows of 16 numbers: a head, and the objects, as in DIGITS' label databases");
  size_ = {x[0][2], x[0][3]};
  rows_ = x[1].count(1) / kDetectNetNumbers;
  check_detectnet_options(augment_, size_);
  const Shape grid = grid_.shape();
  return {.y = {{x[0][0], 3, shown_.height, shown_.width}, {x[0][0], grid[0], grid[1], grid[2]}}, .w = {}};
}

LayerNeeds DetectNetTransformationLayer::prepare(const PrepareRequest& request, Context& context) {
  layer_seed_ = request.layer_seed;
  boxes_.reserve(size_t(rows_));
  if (mean_file_) {
    const FloatImage stored{3, mean_file_->height, mean_file_->width, mean_file_->values};
    warp(context, stored, resize_back(stored, size_.height, size_.width), {}, size_.height, size_.width, mean_);
  }
  return {};
}

void DetectNetTransformationLayer::forward(Context& context, const Operands& io) {
  const HostView images(context, io.x[0].f32(), io.x[0].count()), lists(context, io.x[1].f32(), io.x[1].count());
  float* shown = images_.begin(context, io.y[0].f32(), io.y[0].count());
  float* grids = grids_.begin(context, io.y[1].f32(), io.y[1].count());
  const int64_t of_x = io.x[0].shape().count(1), of_y = io.y[0].shape().count(1), of_grid = grid_.shape().count();
  const uint64_t key = mix_key(mix_key(context.seed, layer_seed_), context.pass);
  for (int64_t n = 0; n < io.x[0].shape()[0]; ++n) {
    RandomStream stream(mix_key(key, uint64_t(n)));
    DetectNetView view;
    view.scaled = shown_;
    if (training_) view = draw_detectnet_view(augment_, size_, shown_, stream);
    look(context, images.data() + n * of_x, view, shown + n * of_y);
    float* grid = grids + n * of_grid;
    if (!read_boxes(list_of(lists, n))) {
      std::fill_n(grid, of_grid, NAN);
      continue;
    }
    for (DetectNetBox& box : boxes_) box = view.place(box, size_);
    grid_.write(boxes_, grid);
  }
  images_.commit(context);
  grids_.commit(context);
}

void DetectNetTransformationLayer::validate(Context& context, const Operands& io) {
  const HostView lists(context, io.x[1].f32(), io.x[1].count());
  for (int64_t n = 0; n < io.x[1].shape()[0]; ++n)
    if (const std::string what = error_in(list_of(lists, n)); !what.empty())
      throw Error(ExitCode::kData, "image " + std::to_string(n) + " of bottom[1]: " + what,
                  "use a label database that DIGITS made for object detection");
}

/// What is wrong with a list; else empty.
std::string DetectNetTransformationLayer::error_in(const float* list) const {
  if (!(list[0] >= 0 && list[0] <= float(rows_ - 1)))
    return to_text(list[0]) + " objects, but it has " + std::to_string(rows_ - 1) + " rows for them";
  if (list[1] != float(kDetectNetNumbers)) return "objects of " + to_text(list[1]) + " numbers, not 16";
  for (int64_t i = 0; i < int64_t(list[0]); ++i) {
    const float* row = list + (i + 1) * kDetectNetNumbers;
    for (const int64_t number : {0, 1, 2, 3, 5})
      if (!(std::fabs(row[number]) <= kDetectNetFarthest))
        return "number " + std::to_string(number) + " of object " + std::to_string(i) + " is " + to_text(row[number]);
  }
  return {};
}

/// Returns false if there is an error in the list.
bool DetectNetTransformationLayer::read_boxes(const float* list) {
  boxes_.clear();
  if (!error_in(list).empty()) return false;
  for (int64_t i = 0; i < int64_t(list[0]); ++i) {
    const float* row = list + (i + 1) * kDetectNetNumbers;
    boxes_.push_back({row[0], row[1], row[2], row[3], int64_t(std::floor(row[5]))});
  }
  return true;
}

/// Writes one image.
void DetectNetTransformationLayer::look(Context& context, const float* x, const DetectNetView& view, float* y) {
  image_.resize(3, size_.height, size_.width);
  std::copy_n(x, image_.values.size(), image_.values.data());
  const int64_t pixels = size_.height * size_.width;
  for (int64_t i = 0; (view.hue != 0 || view.saturation != 1) && i < pixels; ++i) {
    float* const at = image_.values.data() + i;
    float bgr[] = {at[0], at[pixels], at[2 * pixels]};
    change_hue(bgr, view.hue, view.saturation);
    for (int c = 0; c < 3; ++c) at[c * pixels] = bgr[c];
  }
  subtract_mean();
  if (view.flip) mirror(image_);
  const DetectNetSize scaled = view.scaled;
  if (scaled.height != size_.height || scaled.width != size_.width) {
    warp(context, image_, resize_back(image_, scaled.height, scaled.width), {}, scaled.height, scaled.width, other_);
    std::swap(image_, other_);
  }
  if (view.degrees != 0) {
    const DetectNetTurn turn = detectnet_turn(scaled, view.degrees);
    const data::Affine to_centre{{1, 0, 0.5, 0, 1, 0.5}}, from_centre{{1, 0, -0.5, 0, 1, -0.5}};
    warp(context, image_, from_centre.after(turn.back.after(to_centre)), {.cubic = false, .repeat_edge = false},
         turn.size.height, turn.size.width, other_);
    std::swap(image_, other_);
  }
  crop(image_, view.left, view.top, 0, shown_.height, shown_.width, other_);
  std::copy(other_.values.begin(), other_.values.end(), y);
}

void DetectNetTransformationLayer::subtract_mean() {
  const int64_t pixels = size_.height * size_.width;
  for (int64_t i = 0; i < 3 * pixels; ++i)
    image_.values[size_t(i)] -= mean_file_ ? mean_.values[size_t(i)] : means_.means[i / pixels];
}

const RegisterLayer register_detectnet_transformation({
    .name = "DetectNetTransformation",
    .help = "DetectNet's images, changed at random, and the label grids of the objects in them (NVIDIA's Caffe)",
    .options = "detectnet_groundtruth_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 2,
    .max_tops = 2,
    .make = make_layer<DetectNetTransformationLayer>,
});

}  // namespace

}  // namespace cortado

#include "layers/types/detectnet_view.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/types/object_images.h"

namespace cortado {

namespace {

const std::string kDetectNetOwn = "detectnet_augmentation_param.";

void require_detectnet(const std::string& name, float value, float least, float most) {
  if (!(value >= least && value <= most))
    throw FieldError(kDetectNetOwn + name,
                     "it is " + to_text(value) + ", but must be in [" + to_text(least) + ", " + to_text(most) + "]");
}

int64_t scaled_side(int64_t side, double factor) { return std::llround(double(side) * factor); }

/// The first pixel of a crop along an axis. `at` is from 0 to 1.
int64_t crop_edge(double at, int64_t side, int64_t shown, int64_t shift) {
  return std::llround(at * double(side - shown + shift) - double(shift / 2));
}

}  // namespace

void check_detectnet_options(const caffe::DetectNetAugmentationParameter& param, const DetectNetSize& image) {
  const std::pair<float, const char*> probabilities[] = {{param.crop_prob(), "crop_prob"},
                                                         {param.scale_prob(), "scale_prob"},
                                                         {param.flip_prob(), "flip_prob"},
                                                         {param.rotation_prob(), "rotation_prob"},
                                                         {param.hue_rotation_prob(), "hue_rotation_prob"},
                                                         {param.desaturation_prob(), "desaturation_prob"},
                                                         {param.desaturation_max(), "desaturation_max"}};
  for (const auto& [value, name] : probabilities) require_detectnet(name, value, 0, 1);
  require_detectnet("max_rotate_degree", param.max_rotate_degree(), 0, 180);
  require_detectnet("hue_rotation", param.hue_rotation(), 0, INFINITY);
  require_between(kDetectNetOwn + "shift_x", param.shift_x(), 0, kObjectMostSide);
  require_between(kDetectNetOwn + "shift_y", param.shift_y(), 0, kObjectMostSide);
  require_detectnet("scale_max", param.scale_max(), param.scale_min(), kObjectMostScaling);
  require_detectnet("scale_min", param.scale_min(), 0, param.scale_max());
  if (scaled_side(std::min(image.height, image.width), double(param.scale_min())) < 1)
    throw FieldError(kDetectNetOwn + "scale_min",
                     "nothing remains of images of " + std::to_string(image.height) + " x " +
                         std::to_string(image.width) + " times " + to_text(param.scale_min()),
                     "set a factor, for example 0.8");
  if (scaled_side(std::max(image.height, image.width), double(param.scale_max())) > kObjectMostSide)
    throw FieldError(kDetectNetOwn + "scale_max",
                     "scaled images have more than " + std::to_string(kObjectMostSide) + " pixels a side");
  if (param.has_resize_param() || param.has_noise_param() || param.has_distort_param() || param.has_expand_param() ||
      param.has_emit_constraint())
    throw FieldError("detectnet_augmentation_param", "it has a message of another layer, which changes nothing here",
                     "remove resize_param, noise_param, distort_param, expand_param and emit_constraint");
}

DetectNetTurn detectnet_turn(const DetectNetSize& image, double degrees) {
  const double turn = degrees * std::numbers::pi / 180, c = std::cos(turn), s = std::sin(turn);
  const double x = double(image.width) / 2, y = double(image.height) / 2;
  const double reach_x = x * std::fabs(c) + y * std::fabs(s), reach_y = x * std::fabs(s) + y * std::fabs(c);
  const double left = std::floor(x - reach_x), top = std::floor(y - reach_y);
  const data::Affine to_middle{{1, 0, -x, 0, 1, -y}};
  const data::Affine turned{{c, -s, x - left, s, c, y - top}};
  const data::Affine from_result{{1, 0, left - x, 0, 1, top - y}}, turned_back{{c, s, x, -s, c, y}};
  return {turned.after(to_middle),
          turned_back.after(from_result),
          {int64_t(std::ceil(y + reach_y) - top) + 1, int64_t(std::ceil(x + reach_x) - left) + 1}};
}

DetectNetBox DetectNetView::place(DetectNetBox box, const DetectNetSize& image) const {
  if (flip) box.x = double(image.width) - box.x - box.width - 1;
  const double by_x = double(scaled.width) / double(image.width), by_y = double(scaled.height) / double(image.height);
  box.x *= by_x, box.width *= by_x;
  box.y *= by_y, box.height *= by_y;
  if (degrees != 0) {
    const data::Affine forth = detectnet_turn(scaled, degrees).forth;
    const double x = box.x + box.width / 2, y = box.y + box.height / 2;
    box.x = forth.m[0] * x + forth.m[1] * y + forth.m[2] - box.width / 2;
    box.y = forth.m[3] * x + forth.m[4] * y + forth.m[5] - box.height / 2;
  }
  box.x -= double(left), box.y -= double(top);
  return box;
}

DetectNetView draw_detectnet_view(const caffe::DetectNetAugmentationParameter& param, const DetectNetSize& image,
                                  const DetectNetSize& shown, RandomStream& stream) {
  const auto happens = [&](float probability) { return stream.uniform() < probability; };
  const auto either_side = [&](double most) { return most * (2 * double(stream.uniform()) - 1); };
  DetectNetView view;
  if (happens(param.hue_rotation_prob()))
    view.hue = float(std::clamp(either_side(std::min(double(param.hue_rotation()), 1e6)), -180.0, 180.0));
  if (happens(param.desaturation_prob())) view.saturation = 1 - stream.uniform() * param.desaturation_max();
  view.flip = happens(param.flip_prob());
  view.scaled = image;
  if (happens(param.scale_prob())) {
    const double low = param.scale_min(), factor = low + (double(param.scale_max()) - low) * double(stream.uniform());
    view.scaled = {scaled_side(image.height, factor), scaled_side(image.width, factor)};
  }
  if (happens(param.rotation_prob())) view.degrees = either_side(double(param.max_rotate_degree()));
  const DetectNetSize uncut = view.degrees != 0 ? detectnet_turn(view.scaled, view.degrees).size : view.scaled;
  const bool crops = happens(param.crop_prob());
  const double x = crops ? double(stream.uniform()) : 0.5, y = crops ? double(stream.uniform()) : 0.5;
  view.left = crop_edge(x, uncut.width, shown.width, crops ? param.shift_x() : 0);
  view.top = crop_edge(y, uncut.height, shown.height, crops ? param.shift_y() : 0);
  return view;
}

}  // namespace cortado

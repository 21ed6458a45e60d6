// Resize and Upsample. Nearest resizing by integer factors is an Upsample layer, bilinear resizing with aligned corners
// an Interp. Any other resizing is linear along each axis, so a matrix (InnerProduct) does it along one axis after the
// other; nearest resizing selects.
//
// Extents and coordinates are computed in 32-bit floats, in the order of ONNX Runtime: 20 x 0.7 is 14.
#include <algorithm>
#include <cmath>

#include "onnx/import/composing.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

constexpr int64_t kLargestMatrix = int64_t(1) << 24;

struct Resizing {
  std::string mode, transform, nearest;
  float cubic = 0;         ///< cubic coefficient a
  float extrapolated = 0;  ///< the value outside of the input, with tf_crop_and_resize
  bool excludes_outside = false, antialias = false;
};

/// One axis: its extents, the model's scale factor, and the region that tf_crop_and_resize takes, as shares of the
/// input.
struct Side {
  int64_t in, out;
  float factor;
  float begin = 0, end = 1;
};

bool crops(const Resizing& resizing) { return resizing.transform == "tf_crop_and_resize"; }

/// The source coordinate of output i; 0 is the center of the first value. Aligned corners are those of the whole number
/// of outputs, as in ONNX Runtime and PyTorch, even if the scale yields a fraction.
float place_of(const Resizing& resizing, const Side& side, int64_t i) {
  const float in = float(side.in), out = float(side.out), last = in - 1, at = float(i);
  if (crops(resizing))
    return side.out > 1 ? side.begin * last + at * (side.end - side.begin) * last / (out - 1)
                        : float(0.5 * double(side.begin + side.end) * double(last));
  if (resizing.transform == "align_corners") return side.out > 1 ? at * last / (out - 1) : 0;
  if (resizing.transform == "asymmetric") return at / side.factor;
  if (resizing.transform == "tf_half_pixel_for_nn") return (at + 0.5f) / side.factor;
  if (resizing.transform == "pytorch_half_pixel" && side.out == 1) return 0;
  if (resizing.transform != "half_pixel_symmetric") return (at + 0.5f) / side.factor - 0.5f;
  const float offset = in / 2 * (1 - out / (side.factor * in));
  return float(double(offset) + (double(at) + 0.5) / double(side.factor) - 0.5);
}

/// `how` is "simple" before opset 11. ONNX Runtime 1.32 takes 14.499999 for halfway.
float rounded(const std::string& how, float place, bool shrinks) {
  if (how == "floor" || (how == "simple" && !shrinks)) return std::floor(place);
  if (how == "ceil" || how == "simple") return std::ceil(place);
  constexpr float kAlmost = 1e-6f;
  const float below = std::floor(place), rest = place - below;
  if (std::abs(rest - 0.5f) < kAlmost) return how == "round_prefer_floor" ? below : below + 1;
  return rest < 0.5f ? below : below + 1;
}

/// The weight of a value at this distance, by Keys' cubic with coefficient a.
double cubic_weight(double distance, double a) {
  const double d = std::abs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

bool is_outside(const Resizing& resizing, const Side& side, float place) {
  return crops(resizing) && (place < 0 || place > float(side.in - 1));
}

/// The value that nearest resizing takes for output i.
int64_t nearest_of(const Resizing& resizing, const Side& side, int64_t i) {
  const float place = rounded(resizing.nearest, place_of(resizing, side, i), side.factor < 1);
  return int64_t(std::clamp(place, 0.0f, float(side.in - 1)));
}

/// Adds the weights of output i to its row. With antialias a smaller output averages over a wider window.
void add_weights(const Resizing& resizing, const Side& side, double place, float* row) {
  const bool linear = resizing.mode == "linear";
  const double scale = resizing.antialias ? std::min(1.0, double(side.factor)) : 1, reach = (linear ? 1 : 2) / scale;
  const auto weight_at = [&](double at) {
    const double distance = (at - place) * scale;
    return linear ? std::max(0.0, 1 - std::abs(distance)) : cubic_weight(distance, double(resizing.cubic));
  };
  const double low = std::floor(place - reach), high = std::ceil(place + reach), last = double(side.in - 1);
  double sum = 0;
  for (double at = low; at <= high; ++at)
    if (!resizing.excludes_outside || (at >= 0 && at <= last)) sum += weight_at(at);
  const bool normalizes = resizing.excludes_outside || resizing.antialias;
  for (double at = low; at <= high; ++at) {
    if (resizing.excludes_outside && (at < 0 || at > last)) continue;
    row[int64_t(std::clamp(at, 0.0, last))] += float(weight_at(at) / (normalizes ? sum : 1));
  }
}

/// A matrix of outputs x inputs. Coordinates outside the input use the border value, or zeros if they are extrapolated.
std::vector<float> resizing_matrix(const Resizing& resizing, const Side& side) {
  std::vector<float> matrix(size_t(side.out * side.in), 0);
  for (int64_t i = 0; i < side.out; ++i) {
    float* row = matrix.data() + i * side.in;
    const float place = place_of(resizing, side, i);
    if (is_outside(resizing, side, place)) continue;
    if (resizing.mode == "nearest")
      row[nearest_of(resizing, side, i)] = 1;
    else
      add_weights(resizing, side, double(place), row);
  }
  return matrix;
}

/// Whether an axis stays as it is.
bool is_kept(const Resizing& resizing, const Side& side) {
  const bool whole = !crops(resizing) || (side.begin == 0 && side.end == 1);
  return side.in == side.out && whole && (crops(resizing) || resizing.transform == "align_corners" || side.factor == 1);
}

Blob resized(NodeReader& node, const Blob& x, int axis, const Resizing& resizing, const Side& side) {
  if (side.in > kLargestMatrix / side.out)
    node.fail("resizing from " + std::to_string(side.in) + " to " + std::to_string(side.out) + " is not supported");
  bool extrapolates = false;
  for (int64_t i = 0; i < side.out; ++i)
    extrapolates = extrapolates || is_outside(resizing, side, place_of(resizing, side, i));
  if (resizing.mode != "nearest" || extrapolates)
    return mapped(node, x, axis, weight_of(Shape{side.out, side.in}, resizing_matrix(resizing, side)));
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < side.out; ++i) indices.push_back(nearest_of(resizing, side, i));
  return gathered(node, x, axis, indices);
}

/// Whether each value is repeated: integer factors and coordinates that round to the value itself.
bool repeats(const Resizing& resizing, const std::vector<Side>& sides) {
  if (resizing.mode != "nearest") return false;
  for (const Side& side : sides) {
    if (side.out % side.in != 0) return false;
    const int64_t factor = side.out / side.in;
    for (int64_t i = 0; i < side.out; ++i)
      if (nearest_of(resizing, side, i) != i / factor) return false;
  }
  return true;
}

void finish_repeating(NodeReader& node, const Blob& x, const std::vector<Side>& sides) {
  const int64_t h = sides[0].out / sides[0].in, w = sides[1].out / sides[1].in;
  caffe::LayerParameter layer = NodeReader::layer("Upsample");
  auto& param = *layer.mutable_upsample_param();
  if (h == w) {
    param.set_scale(uint32_t(h));
  } else {
    param.set_scale_h(uint32_t(h));
    param.set_scale_w(uint32_t(w));
  }
  node.finish(layer, {x});
}

bool is_old(const NodeReader& node) { return node.op() == "Upsample" || node.opset() == 10; }

/// The axes that scales and sizes are for.
std::vector<int> resized_axes(const NodeReader& node, const Shape& x) {
  std::vector<int64_t> axes(size_t(x.axes()));
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = int64_t(i);
  std::vector<int> out;
  for (const int64_t axis : node.integers("axes", axes)) out.push_back(node.axis_of(x, axis));
  return out;
}

/// The factor of all sizes if the model keeps the aspect ratio.
std::optional<float> common_factor(const NodeReader& node, const Shape& x, const std::vector<int>& axes,
                                   const std::vector<int64_t>& sizes) {
  const std::string policy = node.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return std::nullopt;
  if (policy != "not_larger" && policy != "not_smaller") node.fail("'" + policy + "' is not supported");
  std::vector<float> factors;
  for (size_t i = 0; i < axes.size(); ++i) factors.push_back(float(sizes[i]) / float(x[axes[i]]));
  return policy == "not_larger" ? std::ranges::min(factors) : std::ranges::max(factors);
}

int64_t checked_extent(const NodeReader& node, double extent) {
  if (!(extent >= 1 && extent <= INT32_MAX)) node.fail("output extent " + std::to_string(extent) + " is out of range");
  return int64_t(extent);
}

/// The sides by the model's sizes; its own batch size stays the batch.
void take_sizes(const NodeReader& node, const std::vector<int>& axes, const std::vector<int64_t>& sizes,
                std::vector<Side>& sides) {
  std::vector<int64_t> dims;
  for (const Side& side : sides) dims.push_back(side.in);
  const auto factor = common_factor(node, Shape(dims), axes, sizes);
  for (size_t i = 0; i < axes.size(); ++i) {
    Side& side = sides[size_t(axes[i])];
    if (node.batch().in(side.in) && (node.batch().open || sizes[i] == node.batch().own || sizes[i] == side.in))
      continue;
    side.out = checked_extent(node, factor ? double(std::round(*factor * float(side.in))) : double(sizes[i]));
    side.factor = factor ? *factor : float(side.out) / float(side.in);
  }
}

/// The scale factors and output extents of all axes.
std::vector<Side> sides_of(NodeReader& node, const Shape& x) {
  std::vector<Side> sides;
  for (int axis = 0; axis < x.axes(); ++axis) sides.push_back({x[axis], x[axis], 1});
  const std::vector<int> axes = resized_axes(node, x);
  const auto check = [&](size_t count) {
    if (count != axes.size() || axes.empty())
      node.fail("the number of scales or sizes does not match the axes of " + x.str());
  };
  if (node.has_input(3) && !is_old(node) && node.constant(3, "the sizes")->count() > 0) {
    const std::vector<int64_t> sizes = node.constant(3, "the sizes")->as_integers();
    check(sizes.size());
    take_sizes(node, axes, sizes, sides);
    return sides;
  }
  const ConstantPtr scales = node.constant(is_old(node) ? 1 : 2, "the factors");
  check(scales->count());
  for (size_t i = 0; i < axes.size(); ++i) {
    Side& side = sides[size_t(axes[i])];
    side.factor = float(scales->at(i));
    side.out = checked_extent(node, double(std::floor(float(side.in) * side.factor)));
  }
  return sides;
}

/// The region of tf_crop_and_resize.
void take_region(NodeReader& node, const Shape& x, std::vector<Side>& sides) {
  const ConstantPtr region = node.constant(1, "the region");
  const std::vector<int> axes = resized_axes(node, x);
  if (region->count() != 2 * axes.size()) node.fail("the region has " + std::to_string(region->count()) + " values");
  for (size_t i = 0; i < axes.size(); ++i) {
    sides[size_t(axes[i])].begin = float(region->at(i));
    sides[size_t(axes[i])].end = float(region->at(axes.size() + i));
    if (!std::isfinite(region->at(i)) || !std::isfinite(region->at(axes.size() + i)))
      node.fail("the region is infinite");
  }
}

Resizing resizing_of(NodeReader& node) {
  Resizing resizing{node.text("mode", "nearest"),
                    node.text("coordinate_transformation_mode", "half_pixel"),
                    node.text("nearest_mode", "round_prefer_floor"),
                    node.real("cubic_coeff_a", -0.75f),
                    node.real("extrapolation_value", 0),
                    node.integer("exclude_outside", 0) != 0,
                    node.integer("antialias", 0) != 0};
  if (resizing.mode == "bilinear") resizing.mode = "linear";
  for (const auto& [what, known] :
       {std::pair<std::string, std::vector<std::string>>{resizing.mode, {"nearest", "linear", "cubic"}},
        {resizing.transform,
         {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric",
          "tf_half_pixel_for_nn", "tf_crop_and_resize"}},
        {resizing.nearest, {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"}}})
    if (std::find(known.begin(), known.end(), what) == known.end()) node.fail("'" + what + "' is not supported");
  if (!std::isfinite(resizing.extrapolated)) node.fail("an infinite extrapolation_value is not supported");
  if (is_old(node)) resizing.transform = "asymmetric", resizing.nearest = "simple";
  return resizing;
}

/// An Interp layer is bilinear with aligned corners.
void finish_interp(NodeReader& node, const Blob& x, const std::vector<Side>& sides) {
  caffe::LayerParameter layer = NodeReader::layer("Interp");
  layer.mutable_interp_param()->set_height(int32_t(sides[0].out));
  layer.mutable_interp_param()->set_width(int32_t(sides[1].out));
  node.finish(layer, {x});
}

void read_resize(NodeReader& node) {
  Blob x = node.x(0);
  const Resizing resizing = resizing_of(node);
  std::vector<Side> sides = sides_of(node, x.shape);
  if (crops(resizing)) take_region(node, x.shape, sides);
  const bool same_size = std::ranges::all_of(sides, [](const Side& side) { return side.in == side.out; });
  std::vector<int> changed;  // none if no extent changes, whatever the factors are, as in ONNX Runtime
  for (int axis = 0; axis < x.shape.axes(); ++axis)
    if (!is_kept(resizing, sides[size_t(axis)]) && !(same_size && !crops(resizing))) changed.push_back(axis);
  const bool of_image = x.shape.axes() == 4 && (changed.empty() || changed[0] >= 2);
  if (of_image && !changed.empty()) {
    const std::vector<Side> places(sides.begin() + 2, sides.end());
    if (repeats(resizing, places) && !crops(resizing)) return finish_repeating(node, x, places);
    if (resizing.mode == "linear" && resizing.transform == "align_corners" && !resizing.antialias)
      return finish_interp(node, x, places);
  }
  const bool shifts = crops(resizing) && resizing.extrapolated != 0;
  if (shifts) x = powered(node, x, 1, -resizing.extrapolated);  // so that zeros are the extrapolated value
  std::reverse(changed.begin(), changed.end());
  for (const int axis : changed) {
    if (node.batch().in(x.shape[axis])) node.fail("it resizes the batch");
    x = resized(node, x, axis, resizing, sides[size_t(axis)]);
  }
  node.set(0, shifts ? powered(node, x, 1, resizing.extrapolated) : x);
}

}  // namespace

void add_resizing(Table& table) { table.insert({{"Resize", read_resize}, {"Upsample", read_resize}}); }

}  // namespace cortado::importing

// Resize and Upsample. Nearest resizing by integer factors is an Upsample layer, bilinear resizing with aligned corners
// an Interp. Any other resizing is linear along each axis, so a matrix (InnerProduct) does it: first along the width,
// then, with the last two axes transposed, along the height.
#include <algorithm>
#include <cmath>

#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

constexpr int64_t kLargestMatrix = int64_t(1) << 24;

struct Resizing {
  std::string mode, transform, nearest;
  float cubic = 0;  ///< cubic coefficient a
};

/// One axis: its extents and the model's scale factor.
struct Side {
  int64_t in, out;
  double factor;
};

/// The source coordinate of output i; 0 is the center of the first value.
double place_of(const Resizing& resizing, const Side& side, int64_t i) {
  if (resizing.transform == "align_corners")
    return side.out > 1 ? double(i) * double(side.in - 1) / double(side.out - 1) : 0;
  if (resizing.transform == "asymmetric") return double(i) / side.factor;
  if (resizing.transform == "pytorch_half_pixel" && side.out == 1) return 0;
  return (double(i) + 0.5) / side.factor - 0.5;
}

double rounded(const std::string& how, double place) {
  if (how == "floor") return std::floor(place);
  if (how == "ceil") return std::ceil(place);
  return how == "round_prefer_ceil" ? std::floor(place + 0.5) : std::ceil(place - 0.5);
}

/// The weight of a value at this distance, by Keys' cubic with coefficient a.
double cubic_weight(double distance, double a) {
  const double d = std::abs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/// A matrix of outputs x inputs. Coordinates outside the input use the border value.
std::vector<float> resizing_matrix(const Resizing& resizing, const Side& side) {
  std::vector<float> matrix(size_t(side.out * side.in), 0);
  for (int64_t i = 0; i < side.out; ++i) {
    const double place = place_of(resizing, side, i);
    const auto add = [&](double at, double weight) {
      const int64_t column = int64_t(std::clamp(at, 0.0, double(side.in - 1)));
      matrix[size_t(i * side.in + column)] += float(weight);
    };
    if (resizing.mode == "nearest") {
      add(rounded(resizing.nearest, place), 1);
      continue;
    }
    const double low = std::floor(place), share = place - low;
    if (resizing.mode == "linear") {
      add(low, 1 - share);
      add(low + 1, share);
    } else {
      for (int k = -1; k <= 2; ++k) add(low + k, cubic_weight(share - k, double(resizing.cubic)));
    }
  }
  return matrix;
}

/// Resizes the last axis with a matrix.
Blob resized(NodeReader& node, const Blob& x, const Resizing& resizing, const Side& side) {
  if (side.in == side.out) return x;
  if (side.in > kLargestMatrix / side.out)
    node.fail("resizing from " + std::to_string(side.in) + " to " + std::to_string(side.out) + " is not supported");
  caffe::LayerParameter layer = NodeReader::layer("InnerProduct");
  auto& param = *layer.mutable_inner_product_param();
  param.set_num_output(uint32_t(side.out));
  param.set_bias_term(false);
  param.set_axis(3);
  return node.add(layer, {x}, {weight_of(Shape{side.out, side.in}, resizing_matrix(resizing, side))});
}

/// Whether each value is repeated: integer factors and coordinates that round to the value itself.
bool repeats(const Resizing& resizing, const std::vector<Side>& sides) {
  if (resizing.mode != "nearest") return false;
  for (const Side& side : sides) {
    if (side.out % side.in != 0) return false;
    const int64_t factor = side.out / side.in;
    for (int64_t i = 0; i < side.out; ++i) {
      const double at = rounded(resizing.nearest, place_of(resizing, side, i));
      if (std::clamp(at, 0.0, double(side.in - 1)) != double(i / factor)) return false;
    }
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

/// The scale factors and output extents of all axes.
std::vector<Side> sides_of(NodeReader& node, const Shape& x) {
  const bool upsample = node.op() == "Upsample" || node.opset() == 10;
  const size_t scales_at = upsample ? 1 : 2;
  std::vector<Side> sides;
  std::vector<double> factors;
  std::vector<int64_t> sizes;
  if (node.has_input(3) && !upsample && node.constant(3, "the sizes")->count() > 0) {
    sizes = node.constant(3, "the sizes")->as_integers();
  } else {
    const ConstantPtr scales = node.constant(scales_at, "the factors");
    for (size_t i = 0; i < scales->count(); ++i) factors.push_back(scales->at(i));
  }
  if (std::max(sizes.size(), factors.size()) != size_t(x.axes()) || node.has("axes"))
    node.fail("the number of scales or sizes does not match the axes of " + x.str());
  for (int axis = 0; axis < x.axes(); ++axis) {
    const double factor = sizes.empty() ? factors[size_t(axis)] : double(sizes[size_t(axis)]) / double(x[axis]);
    const double out = sizes.empty() ? std::floor(double(x[axis]) * factor) : double(sizes[size_t(axis)]);
    if (!(out >= 1 && out <= INT32_MAX)) node.fail("output extent " + std::to_string(out) + " is out of range");
    sides.push_back({x[axis], int64_t(out), factor});
  }
  return sides;
}

Resizing resizing_of(NodeReader& node) {
  const bool old = node.op() == "Upsample" || node.opset() == 10;
  Resizing resizing{node.text("mode", "nearest"), node.text("coordinate_transformation_mode", "half_pixel"),
                    node.text("nearest_mode", "round_prefer_floor"), node.real("cubic_coeff_a", -0.75f)};
  if (old) resizing.transform = "asymmetric", resizing.nearest = "floor";
  if (resizing.mode == "bilinear") resizing.mode = "linear";
  for (const auto& [what, known] :
       {std::pair<std::string, std::vector<std::string>>{resizing.mode, {"nearest", "linear", "cubic"}},
        {resizing.transform, {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"}},
        {resizing.nearest, {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"}}})
    if (std::find(known.begin(), known.end(), what) == known.end()) node.fail("'" + what + "' is not supported");
  if (node.integer("exclude_outside", 0) != 0 || node.integer("antialias", 0) != 0)
    node.fail("exclude_outside and antialias are not supported");
  if (node.text("keep_aspect_ratio_policy", "stretch") != "stretch")
    node.fail("keep_aspect_ratio_policy is not supported");
  return resizing;
}

void read_resize(NodeReader& node) {
  const Blob x = node.x(0);
  if (x.shape.axes() != 4)
    node.fail("an input of shape " + x.shape.str() + " is not supported; only images (4 axes) are");
  const std::vector<Side> all = sides_of(node, x.shape), sides(all.begin() + 2, all.end());
  if (all[1].in != all[1].out) node.fail("only height and width can be resized");  // the batch axis is not checked
  const Resizing resizing = resizing_of(node);
  if (repeats(resizing, sides)) return finish_repeating(node, x, sides);
  if (resizing.mode == "linear" && resizing.transform == "align_corners") {
    caffe::LayerParameter layer = NodeReader::layer("Interp");
    layer.mutable_interp_param()->set_height(int32_t(sides[0].out));
    layer.mutable_interp_param()->set_width(int32_t(sides[1].out));
    return node.finish(layer, {x});
  }
  const std::vector<int64_t> exchanged = {0, 1, 3, 2};
  const Blob wide = resized(node, x, resizing, sides[1]);
  if (sides[0].in == sides[0].out) return node.set(0, wide);
  node.finish_permuted(resized(node, node.permuted(wide, exchanged), resizing, sides[0]), exchanged);
}

}  // namespace

void add_resizing(Table& table) { table.insert({{"Resize", read_resize}, {"Upsample", read_resize}}); }

}  // namespace cortado::importing

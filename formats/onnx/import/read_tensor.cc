#include "onnx/import/read_tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "core/half.h"
#include "onnx/import/batch_constants.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

using onnx::TensorProto;

Shape shape_of_tensor(const TensorProto& tensor) {
  if (tensor.dims_size() > Shape::kMaxAxes)
    throw FieldError("", "it has " + std::to_string(tensor.dims_size()) + " axes, above the limit of " +
                             std::to_string(Shape::kMaxAxes));
  for (const int64_t dim : tensor.dims())
    if (dim < 0) throw FieldError("", "extent " + std::to_string(dim) + " is negative");
  return Shape(std::vector<int64_t>(tensor.dims().begin(), tensor.dims().end()));
}

[[noreturn]] void fail_count(int64_t have, const Shape& shape) {
  throw FieldError("", "it holds " + std::to_string(have) + " values, but its shape is " + shape.str());
}

template <typename T, typename To>
void take_raw(std::string_view raw, const Shape& shape, std::vector<To>& out) {
  const int64_t count = shape.count();
  if (raw.size() % sizeof(T) != 0 || int64_t(raw.size() / sizeof(T)) != count)
    fail_count(int64_t(raw.size() / sizeof(T)), shape);
  out.resize(size_t(count));
  for (size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
    out[i] = To(value);
  }
}

template <typename Field, typename To>
void take_field(const Field& field, const Shape& shape, std::vector<To>& out) {
  if (field.size() != shape.count()) fail_count(field.size(), shape);
  out.assign(field.begin(), field.end());
}

/// 16-bit floats, stored in integers or in raw bytes.
template <typename ToFloat>
void take_halves(const TensorProto& tensor, std::string_view raw, bool only_raw, const Shape& shape,
                 std::vector<float>& out, const ToFloat& to_float) {
  std::vector<uint16_t> bits;
  if (only_raw || !raw.empty())
    take_raw<uint16_t>(raw, shape, bits);
  else
    take_field(tensor.int32_data(), shape, bits);
  for (const uint16_t one : bits) out.push_back(to_float(one));
}

float from_bfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

}  // namespace

Constant read_tensor(const TensorProto& tensor, std::string_view raw, bool only_raw) {
  Constant out{.shape = shape_of_tensor(tensor)};
  const Shape& shape = out.shape;
  const bool from_raw = only_raw || !raw.empty();
  out.integers = tensor.data_type() != TensorProto::FLOAT && tensor.data_type() != TensorProto::DOUBLE &&
                 tensor.data_type() != TensorProto::FLOAT16 && tensor.data_type() != TensorProto::BFLOAT16;
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
      from_raw ? take_raw<float>(raw, shape, out.floats) : take_field(tensor.float_data(), shape, out.floats);
      return out;
    case TensorProto::DOUBLE:
      from_raw ? take_raw<double>(raw, shape, out.floats) : take_field(tensor.double_data(), shape, out.floats);
      return out;
    case TensorProto::FLOAT16:
      take_halves(tensor, raw, only_raw, shape, out.floats, half_value);
      return out;
    case TensorProto::BFLOAT16:
      take_halves(tensor, raw, only_raw, shape, out.floats, from_bfloat16);
      return out;
    case TensorProto::INT64:
      from_raw ? take_raw<int64_t>(raw, shape, out.ints) : take_field(tensor.int64_data(), shape, out.ints);
      return out;
    case TensorProto::INT32:
      from_raw ? take_raw<int32_t>(raw, shape, out.ints) : take_field(tensor.int32_data(), shape, out.ints);
      return out;
    case TensorProto::UINT8:
    case TensorProto::BOOL:
      from_raw ? take_raw<uint8_t>(raw, shape, out.ints) : take_field(tensor.int32_data(), shape, out.ints);
      return out;
    case TensorProto::INT8:
      from_raw ? take_raw<int8_t>(raw, shape, out.ints) : take_field(tensor.int32_data(), shape, out.ints);
      return out;
    default:
      throw FieldError("", "ONNX data type " + std::to_string(tensor.data_type()) + " is not supported",
                       "use floats, integers of 8, 32 or 64 bits, or booleans");
  }
}

// Sums and products of two operands. ONNX broadcasts an operand over axes where its extent is 1. Scale and Bias
// broadcast theirs only over the axes before and after a range of equal axes. So the smaller operand is reduced to the
// range from its first to its last axis with an extent above 1.

namespace {

/// The range [first, end) of axes of x that the smaller operand has; empty if it is one number.
struct Span {
  int first = 0, end = 0;
};

/// The range of axes for `small`. Nothing if x would have to be broadcast, or `small` within the range.
std::optional<Span> span_of(const Shape& x, const Shape& small) {
  const int behind = x.axes() - small.axes();
  if (behind < 0) return std::nullopt;
  Span span;
  for (int i = 0; i < small.axes(); ++i) {
    const int axis = behind + i;
    if (small[i] != 1 && small[i] != x[axis]) return std::nullopt;
    if (small[i] == 1) continue;
    if (span.end == 0) span.first = axis;
    span.end = axis + 1;
  }
  for (int axis = span.first; axis < span.end; ++axis)
    if (small[axis - behind] != x[axis]) return std::nullopt;
  return span;
}

/// A constant with its range, expanded within the range.
struct Spread {
  Span span;
  std::vector<float> values;
};

std::optional<Spread> spread_of(const Shape& x, const Constant& small) {
  const int behind = x.axes() - small.shape.axes();
  if (behind < 0) return std::nullopt;
  if (const auto span = span_of(x, small.shape)) return Spread{*span, small.as_floats()};
  Span span;
  for (int i = 0; i < small.shape.axes(); ++i) {
    if (small.shape[i] != 1 && small.shape[i] != x[behind + i]) return std::nullopt;
    if (small.shape[i] == 1) continue;
    if (span.end == 0) span.first = behind + i;
    span.end = behind + i + 1;
  }
  const int64_t count = x.count(span.first, span.end);
  if (count > kMaxFolded) return std::nullopt;
  Spread out{span, std::vector<float>(size_t(count))};
  const std::vector<float> from = small.as_floats();
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at = 0, step = 1;
    for (int axis = span.end - 1; axis >= span.first; --axis) {
      const int64_t place = rest % x[axis];
      rest /= x[axis];
      if (small.shape[axis - behind] == 1) continue;
      at += place * step;
      step *= x[axis];
    }
    out.values[size_t(i)] = from[size_t(at)];
  }
  return out;
}

Shape shape_of(const Shape& x, const Span& span) {
  return Shape(std::vector<int64_t>(x.dims().begin() + span.first, x.dims().begin() + span.end));
}

caffe::LayerParameter power(float scale, float shift, float exponent = 1) {
  caffe::LayerParameter layer = NodeReader::layer("Power");
  if (scale != 1) layer.mutable_power_param()->set_scale(scale);
  if (shift != 0) layer.mutable_power_param()->set_shift(shift);
  if (exponent != 1) layer.mutable_power_param()->set_power(exponent);
  return layer;
}

[[noreturn]] void fail_shapes(NodeReader& node, const Shape& a, const Shape& b) {
  node.fail("operands of shapes " + a.str() + " and " + b.str() + " are not supported",
            "use equal shapes, or one that is broadcast only before and after a range of axes");
}

}  // namespace

void finish_with_constant(NodeReader& node, const Blob& x, const Constant& given, bool product) {
  const Constant constant = without_batch(given, x.shape, node.batch());
  const auto spread = spread_of(x.shape, constant);
  if (!spread) fail_shapes(node, x.shape, constant.shape);
  if (spread->span.end == 0) {
    const float one = spread->values.at(0);
    return node.finish(product ? power(one, 0) : power(1, one), {x});
  }
  caffe::LayerParameter layer = NodeReader::layer(product ? "Scale" : "Bias");
  const int axes = spread->span.end - spread->span.first;
  if (product) {
    layer.mutable_scale_param()->set_axis(spread->span.first);
    if (axes != 1) layer.mutable_scale_param()->set_num_axes(axes);
  } else {
    layer.mutable_bias_param()->set_axis(spread->span.first);
    if (axes != 1) layer.mutable_bias_param()->set_num_axes(axes);
  }
  node.finish(layer, {x}, {weight_of(shape_of(x.shape, spread->span), spread->values)});
}

namespace {

void finish_equal(NodeReader& node, const Blob& a, const Blob& b, bool product) {
  caffe::LayerParameter layer = NodeReader::layer("Eltwise");
  if (product) layer.mutable_eltwise_param()->set_operation(caffe::EltwiseParameter::PROD);
  node.finish(layer, {a, b});
}

/// Tiles the smaller blob to the shape of x.
Blob tiled(NodeReader& node, const Shape& x, Blob small) {
  std::vector<int64_t> dims(size_t(x.axes() - small.shape.axes()), 1);
  dims.insert(dims.end(), small.shape.dims().begin(), small.shape.dims().end());
  small = node.reshaped(small, dims);
  for (int axis = 0; axis < x.axes(); ++axis) {
    if (small.shape[axis] == x[axis]) continue;
    caffe::LayerParameter layer = NodeReader::layer("Tile");
    layer.mutable_tile_param()->set_axis(axis);
    layer.mutable_tile_param()->set_tiles(int32_t(x[axis]));
    small = node.add(layer, {small});
  }
  return small;
}

/// Combines x with a smaller blob.
void finish_with_smaller(NodeReader& node, const Blob& x, const Blob& small, bool product) {
  bool fits = small.shape.axes() <= x.shape.axes();
  for (int i = 1; fits && i <= small.shape.axes(); ++i) {
    const int64_t extent = small.shape[small.shape.axes() - i];
    fits = extent == 1 || extent == x.shape[x.shape.axes() - i];
  }
  if (!fits) fail_shapes(node, x.shape, small.shape);
  const auto span = span_of(x.shape, small.shape);
  if (!span) return finish_equal(node, x, tiled(node, x.shape, small), product);
  const Blob factor = node.reshaped(small, shape_of(x.shape, *span).dims());
  caffe::LayerParameter layer = NodeReader::layer(product ? "Scale" : "Bias");
  product ? layer.mutable_scale_param()->set_axis(span->first) : layer.mutable_bias_param()->set_axis(span->first);
  node.finish(layer, {x, factor});
}

/// Combines two blobs.
void finish_with_blob(NodeReader& node, const Blob& a, const Blob& b, bool product) {
  if (a.shape == b.shape) return finish_equal(node, a, b, product);
  const bool first_is_smaller = a.shape.axes() < b.shape.axes() || a.shape.count() < b.shape.count();
  return first_is_smaller ? finish_with_smaller(node, b, a, product) : finish_with_smaller(node, a, b, product);
}

void finish(NodeReader& node, bool product) {
  for (const size_t i : {size_t(1), size_t(0)})
    if (node.is_constant(i)) return finish_with_constant(node, node.x(1 - i), *node.constant(i, "an operand"), product);
  finish_with_blob(node, node.x(0), node.x(1), product);
}

void read_add(NodeReader& node) { finish(node, false); }
void read_mul(NodeReader& node) { finish(node, true); }

Constant changed(const Constant& constant, float (*change)(float)) {
  Constant out{.shape = constant.shape, .floats = constant.as_floats()};
  for (float& value : out.floats) value = change(value);
  return out;
}

void read_sub(NodeReader& node) {
  if (node.is_constant(1))
    return finish_with_constant(node, node.x(0), changed(*node.constant(1, "an operand"), [](float v) { return -v; }),
                                false);
  const Blob minus = node.add(power(-1, 0), {node.x(1)});
  if (node.is_constant(0)) return finish_with_constant(node, minus, *node.constant(0, "an operand"), false);
  finish_with_blob(node, node.x(0), minus, false);
}

void read_div(NodeReader& node) {
  if (node.is_constant(1))
    return finish_with_constant(node, node.x(0),
                                changed(*node.constant(1, "an operand"), [](float v) { return 1 / v; }), true);
  const Blob inverse = node.add(power(1, 0, -1), {node.x(1)});
  if (node.is_constant(0)) return finish_with_constant(node, inverse, *node.constant(0, "an operand"), true);
  finish_with_blob(node, node.x(0), inverse, true);
}

/// The sum of any number of tensors of one shape.
void read_sum(NodeReader& node) {
  std::vector<Blob> bottoms;
  for (size_t i = 0; i < node.inputs(); ++i) bottoms.push_back(node.x(i));
  if (bottoms.size() == 1) return node.set(0, bottoms[0]);
  caffe::LayerParameter layer = NodeReader::layer("Eltwise");
  if (node.op() == "Mean")
    for (size_t i = 0; i < bottoms.size(); ++i) layer.mutable_eltwise_param()->add_coeff(1 / float(bottoms.size()));
  node.finish(layer, bottoms);
}

}  // namespace

void add_arithmetic(Table& table) {
  table.insert({{"Add", read_add},
                {"Sub", read_sub},
                {"Mul", read_mul},
                {"Div", read_div},
                {"Sum", read_sum},
                {"Mean", read_sum}});
}

}  // namespace cortado::importing

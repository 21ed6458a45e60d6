// Convolutions of 8-bit integers compared with their definition, with numbers such that only the result is rounded:
// weights are even multiples of their scales, so that the bit which some CPUs drop is 0.

#include "kernels/quantized_conv.h"

#include "kernels/reorder.h"
#include "tests/kernels/drawn_convs.h"
#include "tests/kernels/operand.h"

namespace cortado::kernels {
namespace {

using namespace testing;

int least(DType dtype) { return dtype == DType::kS8 ? -128 : 0; }
int largest(DType dtype) { return dtype == DType::kS8 ? 127 : 255; }

/// Integers from `from` to `to`.
std::vector<int> whole_numbers(int64_t n, int from, int to, uint64_t key) {
  RandomStream random(key);
  std::vector<int> values(static_cast<size_t>(n));
  for (int& v : values) v = from + int(random.uniform() * float(to - from + 1));
  return values;
}

/// Element i in logical order, channels last.
int64_t place_of(const Shape& shape, int64_t i) {
  const int64_t pixels = shape.count(2), pixel = i % pixels, c = i / pixels % shape[1], n = i / pixels / shape[1];
  return (n * pixels + pixel) * shape[1] + c;
}

/// A channels-last operand, given in logical order in the units of its encoding.
class Integers {
 public:
  Integers(Context& context, const Shape& shape, Encoding encoding, const std::vector<int>& values = {})
      : shape_(shape),
        encoding_(encoding),
        memory_(context, TensorSpec{shape, encoding.dtype, Layout::kChannelsLast}.bytes()) {
    if (values.empty()) return;
    std::vector<std::byte> stored(size_t(TensorSpec{shape, encoding.dtype}.bytes()));
    for (size_t i = 0; i < values.size(); ++i) put(stored.data(), place_of(shape, int64_t(i)), values[i]);
    memory_.set(stored.data(), int64_t(stored.size()));
  }
  void* data() const { return memory_.data(); }
  /// In units of the encoding: integers, or floats.
  std::vector<double> values() const {
    const std::vector<float> raw = memory_.floats();
    const auto* bytes = reinterpret_cast<const std::byte*>(raw.data());
    std::vector<double> out;
    for (int64_t i = 0; i < shape_.count(); ++i) {
      const int64_t at = place_of(shape_, i);
      out.push_back(encoding_.dtype == DType::kF32  ? double(raw[size_t(at)])
                    : encoding_.dtype == DType::kS8 ? double(int8_t(bytes[at]))
                                                    : double(uint8_t(bytes[at])));
    }
    return out;
  }

 private:
  void put(std::byte* stored, int64_t at, int value) const {
    if (encoding_.dtype == DType::kF32)
      reinterpret_cast<float*>(stored)[at] = float(value);
    else
      stored[at] = std::byte(value);
  }
  Shape shape_;
  Encoding encoding_;
  Fenced memory_;
};

struct Case {
  QuantizedConvRequest request;
  std::vector<int> x, w, bias, z;  ///< x, w and z in units of their scales, bias as integers
};

/// y before rounding.
std::vector<double> reference(const Case& c) {
  const QuantizedConvRequest& r = c.request;
  const ConvShape& s = r.shape;
  const int64_t cg = s.c / s.groups, kg = s.k / s.groups;
  std::vector<double> y;
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t k = 0; k < s.k; ++k)
      for (int64_t oh = 0; oh < s.h.out(); ++oh)
        for (int64_t ow = 0; ow < s.w.out(); ++ow) {
          int64_t sum = 0;
          for (int64_t i = 0; i < cg; ++i)
            for (int64_t kh = 0; kh < s.h.kernel; ++kh)
              for (int64_t kw = 0; kw < s.w.kernel; ++kw) {
                const int64_t h = oh * s.h.stride - s.h.pad + kh * s.h.dilation,
                              w = ow * s.w.stride - s.w.pad + kw * s.w.dilation;
                if (h < 0 || h >= s.h.in || w < 0 || w >= s.w.in) continue;
                const int64_t channel = k / kg * cg + i;
                sum += int64_t(c.x[size_t(((n * s.c + channel) * s.h.in + h) * s.w.in + w)]) *
                       c.w[size_t(((k * cg + i) * s.h.kernel + kh) * s.w.kernel + kw)];
              }
          double v = double(sum) / (double(r.x.scale) * double(r.w_scales[size_t(k)]));
          if (r.bias) v += c.bias[size_t(k)];
          if (r.post.sum) v += c.z[y.size()] / double(r.z.scale);
          y.push_back(double(r.post.activation(float(v))) * double(r.y.scale));
        }
  return y;
}

void check(Case c) {
  const QuantizedConvRequest& r = c.request;
  const ConvShape& s = r.shape;
  SCOPED_TRACE(describe({.shape = s, .bias = r.bias, .post = r.post}, ConvDirection::kForward) + " from " +
               name_of(r.x.dtype) + " to " + name_of(r.y.dtype) + (r.post.sum ? " with " + name_of(r.z.dtype) : ""));
  ASSERT_TRUE(suits_quantized_conv(s, r.post));
  Context context(2);
  const auto conv = plan_quantized_conv(r, context);
  Values w(c.w.size()), bias(c.bias.begin(), c.bias.end());
  const size_t row = c.w.size() / size_t(s.k);
  for (size_t i = 0; i < w.size(); ++i) w[i] = float(c.w[i]) / r.w_scales[i / row];
  const StoredWeight stored(context, conv->weight_format(), w), stored_bias(context, conv->bias_format(), bias);
  const Shape y_shape = s.y().shape;
  const Integers x(context, s.x().shape, r.x, c.x);
  const Integers y = r.post.sum ? Integers(context, y_shape, r.z, c.z) : Integers(context, y_shape, r.y);
  const Integers result(context, y_shape, r.y);
  const Fenced scratch(context, conv->forward_scratch());
  conv->forward(context,
                {.x = x.data(), .w = stored.data(), .bias = r.bias ? stored_bias.data() : nullptr, .y = y.data()},
                scratch.data());
  scratch.expect_intact();
  std::memcpy(result.data(), y.data(), size_t(TensorSpec{y_shape, r.y.dtype}.bytes()));
  const std::vector<double> got = result.values(), expected = reference(c);
  double moved = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const bool is_float = r.y.dtype == DType::kF32;
    const double wanted =
        is_float ? expected[i] : std::clamp(expected[i], double(least(r.y.dtype)), double(largest(r.y.dtype)));
    // Half a rounding step, and the float in which a product is scaled.
    ASSERT_NEAR(got[i], wanted, (is_float ? 0 : 0.5) + 1e-5 * std::abs(expected[i]) + 1e-4) << "at " << i;
    moved += std::abs(got[i]);
  }
  const bool has_values = std::ranges::any_of(expected, [](double v) { return std::abs(v) >= 1; });
  EXPECT_TRUE(moved > 0 || !has_values);
}

Case make_case(const ConvShape& s, DType x, DType y, bool bias, bool sum, DType z, Activation activation) {
  Case c;
  QuantizedConvRequest& r = c.request;
  r.shape = s;
  r.x = {x, 16}, r.y = {y, y == DType::kF32 ? 1.0f : 2.0f}, r.z = {z, z == DType::kF32 ? 1.0f : 4.0f};
  for (int64_t k = 0; k < s.k; ++k) r.w_scales.push_back(k % 2 ? 64 : 128);
  r.bias = bias;
  r.post = {.sum = sum, .activation = activation};
  c.x = whole_numbers(s.x().shape.count(), least(x), largest(x), 1);
  c.w = whole_numbers(s.weight().count(), -63, 63, 2);
  for (int& w : c.w) w *= 2;
  c.bias = whole_numbers(s.k, -20, 20, 3);
  if (sum) c.z = whole_numbers(s.y().shape.count(), least(z), largest(z), 4);
  return c;
}

const ConvShape kShapes[] = {
    {.n = 2, .c = 32, .k = 24, .h = {9, 1}, .w = {7, 1}},
    {.n = 1, .c = 16, .k = 40, .h = {8, 3, 1, 1}, .w = {11, 3, 1, 1}},
    {.n = 2, .c = 3, .k = 16, .h = {15, 7, 2, 3}, .w = {14, 7, 2, 3}},
    {.n = 1, .c = 20, .k = 50, .h = {12, 5}, .w = {12, 5}},
    {.n = 1, .c = 64, .k = 17, .h = {6, 3, 2, 1}, .w = {6, 1, 2, 0}},
    {.n = 1, .c = 16, .k = 16, .h = {12, 3, 1, 2, 2}, .w = {12, 3, 1, 2, 2}},
    {.n = 1, .c = 16, .k = 16, .h = {11, 3, 2, 2, 1}, .w = {9, 2, 1, 1, 3}},  // all of the axes differ
    {.n = 1, .c = 16, .k = 24, .h = {9, 2, 1, 0, 2}, .w = {12, 3, 3, 2, 1}},
    {.n = 1, .c = 16, .k = 16, .groups = 16, .h = {11, 3, 2, 2, 1}, .w = {9, 2, 1, 1, 3}},
    {.n = 2, .c = 32, .k = 32, .groups = 32, .h = {10, 3, 1, 1}, .w = {9, 3, 1, 1}},
    {.n = 1, .c = 24, .k = 24, .groups = 24, .h = {11, 5, 2, 2}, .w = {11, 5, 2, 2}},
    {.n = 1, .c = 32, .k = 16, .groups = 2, .h = {7, 3, 1, 1}, .w = {7, 3, 1, 1}},
    {.n = 5, .c = 32, .k = 40, .h = {10, 3, 1, 1}, .w = {10, 3, 1, 1}},
    {.n = 1, .c = 32, .k = 40, .h = {21, 3, 1, 1}, .w = {20, 3, 1, 1}},  // in pieces of rows
    {.n = 1, .c = 3, .k = 32, .h = {40, 7, 2, 3}, .w = {40, 7, 2, 3}},
    {.n = 2, .c = 64, .k = 64, .groups = 64, .h = {56, 3, 2, 1}, .w = {56, 3, 2, 1}},
    {.n = 1, .c = 64, .k = 72, .h = {16, 1}, .w = {16, 1}},
};

TEST(QuantizedConv, EqualsTheRoundedDefinition) {
  for (const ConvShape& shape : kShapes)
    for (const DType x : {DType::kU8, DType::kS8})
      for (const DType y : {DType::kU8, DType::kS8, DType::kF32})
        check(make_case(shape, x, y, x == DType::kU8, false, y, y == DType::kU8 ? Activation::relu() : Activation()));
}

TEST(QuantizedConv, EqualsTheRoundedDefinitionForDrawnShapes) {
  RandomStream random(6);
  for (const ConvShape& shape : drawn_convs(1000, 8, {8, 16})) {
    const DType x = random.below(2) ? DType::kU8 : DType::kS8, y = random.below(2) ? DType::kS8 : DType::kF32;
    check(make_case(shape, x, y, random.below(2) == 0, false, y, {}));
    ASSERT_FALSE(HasFailure()) << "with " << name_of(x);
  }
}

TEST(QuantizedConv, AddsYWithAnotherScale) {
  for (const ConvShape& shape : kShapes)
    for (const DType y : {DType::kU8, DType::kS8, DType::kF32})
      for (const DType z : y == DType::kF32 ? std::vector{DType::kF32} : std::vector{DType::kU8, DType::kS8})
        check(make_case(shape, DType::kU8, y, true, true, z, y == DType::kS8 ? Activation() : Activation::relu()));
}

TEST(QuantizedConv, ClipsAtTheCeiling) {
  for (const DType y : {DType::kU8, DType::kF32})
    check(make_case(kShapes[0], DType::kU8, y, true, false, y, Activation::clipped_relu(6)));
}

/// Pairs of the largest products, which overflow 16 bits.
TEST(QuantizedConv, LargestValuesDoNotOverflow) {
  for (const DType x : {DType::kU8, DType::kS8}) {
    Case c = make_case(kShapes[0], x, DType::kF32, false, false, DType::kF32, {});
    std::fill(c.x.begin(), c.x.end(), largest(x));
    for (size_t i = 0; i < c.w.size(); ++i) c.w[i] = i / 32 % 2 ? 126 : -126;
    check(std::move(c));
  }
}

/// Pruned channels have huge scales.
TEST(QuantizedConv, HugeScalesKeepTheBias) {
  Case c = make_case(kShapes[0], DType::kU8, DType::kF32, true, false, DType::kF32, {});
  for (float& scale : c.request.w_scales) scale = 1e30f;
  Case without = c;
  std::fill(without.w.begin(), without.w.end(), 0);
  std::fill(c.w.begin(), c.w.end(), 0);
  check(std::move(c));
}

TEST(QuantizedConv, DeclinesUnsupportedRequests) {
  const ConvShape shape = kShapes[0];
  EXPECT_FALSE(suits_quantized_conv(shape, {.activation = {Activation::kSigmoid}}));
  ConvShape line = shape;
  line.spatial_axes = 1;
  EXPECT_FALSE(suits_quantized_conv(line, {}));
  ConvShape groups = shape;
  groups.groups = 8;
  EXPECT_FALSE(suits_quantized_conv(groups, {}));
}

/// From floats in any layout to channels-last integers, from one scale to another, and back.
TEST(QuantizedReorder, RoundsAndSaturates) {
  Context context(2);
  for (const DType dtype : {DType::kU8, DType::kS8})
    for (const Layout layout : {Layout::kPlain, Layout::kBlocked16, Layout::kChannelsLast}) {
      const Shape shape{2, 20, 3, 5};
      const TensorSpec floats{shape, DType::kF32, layout}, integers{shape, dtype, Layout::kChannelsLast, 100},
          others{shape, dtype, Layout::kChannelsLast, 50};
      Values values = random_values(shape.count(), 1);
      for (float& v : values) v *= 6;  // some out of range
      const Operand x(context, floats, values), back(context, floats);
      const Integers y(context, shape, integers.encoding()), z(context, shape, others.encoding());
      const auto run = [&](const TensorSpec& from, const void* source, const TensorSpec& to, void* target) {
        const auto reorder = plan_reorder({from, to}, context);
        const Fenced scratch(context, reorder->scratch());
        reorder->run(context, source, target, scratch.data());
      };
      run(floats, x.data(), integers, y.data());
      run(integers, y.data(), others, z.data());
      run(integers, y.data(), floats, back.data());
      const std::vector<double> rounded_to = y.values(), halves = z.values();
      const Values again = back.values();
      for (size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(rounded_to[i],
                  std::clamp(double(std::nearbyint(values[i] * 100)), double(least(dtype)), double(largest(dtype))));
        EXPECT_EQ(halves[i], std::nearbyint(rounded_to[i] / 2));
        EXPECT_FLOAT_EQ(again[i], float(rounded_to[i] / 100));
      }
    }
}

}  // namespace
}  // namespace cortado::kernels

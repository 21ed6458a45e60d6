// Weights in the format of a device's kernels yield the same bits as 32-bit weights of equal values.

#include "kernels/conv.h"
#include "kernels/inner_product.h"
#include "tests/kernels/operand.h"

namespace cortado::kernels {
namespace {

using namespace testing;

const DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

TEST(FrozenWeights, AreStoredInAnyTypeAndOrder) {
  const Shape shape{3, 5, 2, 3};
  const Values plain = random_values(shape.count(), 1);
  for (const DeviceKind kind : devices()) {
    Context context = context_on(kind);
    for (const DType dtype : kTypes)
      for (const bool last : {false, true}) {
        const WeightFormat format = WeightFormat::of_type(shape, dtype, last);
        EXPECT_EQ(format.is_plain(), dtype == DType::kF32 && !last);
        EXPECT_EQ(format.is_reversible(), dtype == DType::kF32);
        EXPECT_EQ(format.dtype(), dtype);
        EXPECT_EQ(format.bytes(), shape.count() * size_of(dtype));
        EXPECT_TRUE(format == WeightFormat::of_type(shape, dtype, last));
        EXPECT_FALSE(format == WeightFormat::of_type(shape, dtype, !last));
        const Operand stored(context, {shape, dtype, last ? Layout::kChannelsLast : Layout::kPlain});
        format.from_plain(context, plain.data(), stored.data());
        EXPECT_EQ(stored.values(), rounded(plain, dtype)) << format.name();
        if (!format.is_reversible()) continue;
        Values back(plain.size());
        format.to_plain(context, stored.data(), back.data());
        EXPECT_EQ(back, plain) << format.name();
      }
  }
}

TEST(FrozenWeights, FillWholeWordsAndMayBeEmpty) {
  EXPECT_EQ(WeightFormat::of_type({3}, DType::kBF16).bytes(), 8);
  EXPECT_EQ(WeightFormat::of_type({0, 4}, DType::kBF16).bytes(), 0);
  EXPECT_EQ(WeightFormat::of_type({}, DType::kF16).bytes(), 4);
  EXPECT_TRUE(WeightFormat::of_type({8, 4, 1, 1}, DType::kF32, true).is_plain()) << "one tap: no other order";
  EXPECT_TRUE(WeightFormat::of_type({8, 4, 1, 1}, DType::kF16, true) ==
              WeightFormat::of_type({8, 4, 1, 1}, DType::kF16));
}

/// The post-ops of a convolution, and the memory of z.
struct End {
  bool bias, sum, relu, apart;
};

/// y of the plain candidate; `frozen`: its weights have the type and layout of x.
Values forward(ConvRequest request, const End& end, bool frozen, DeviceKind kind) {
  const ConvShape& s = request.shape;
  request.bias = end.bias, request.post = relu_if(end.relu, end.sum), request.frozen = frozen;
  Context context = context_on(kind);
  std::string why;
  const auto conv = make_conv(plain_conv_candidate(), request, context, why);
  EXPECT_TRUE(conv) << why;
  const WeightFormat format = conv->weight_format();
  EXPECT_EQ(format.dtype(), frozen ? s.dtype : DType::kF32);
  EXPECT_EQ(conv->forward_scratch(), 0);
  EXPECT_EQ(conv->sum_place(), SumPlace::kAnywhere);
  const Values z = rounded(random_values(s.y().shape.count(), 4), s.dtype);
  const Operand x(context, s.x(), random_values(s.x().shape.count(), 1)), apart(context, s.y(), z),
      y(context, s.y(), z), bias(context, {{s.k}, format.dtype()}, rounded(random_values(s.k, 3), s.dtype));
  const StoredWeight w(context, format, rounded(random_values(s.weight().count(), 2), s.dtype));
  const ConvOperands io{.x = x.data(),
                        .w = w.data(),
                        .bias = end.bias ? bias.data() : nullptr,
                        .z = end.apart ? apart.data() : y.data(),
                        .y = y.data()};
  conv->forward(context, io, nullptr);
  EXPECT_EQ(apart.values(), z);
  return y.values();
}

TEST(FrozenWeights, ConvolveBitwiseEqually) {
  const ConvAxis axis{9, 3, 2, 1};
  const ConvShape shapes[] = {{.n = 2, .c = 12, .k = 10, .groups = 2, .h = axis, .w = axis},
                              {.n = 1, .c = 7, .k = 7, .groups = 7, .h = axis, .w = {8, 5, 1, 2}},
                              {.n = 2, .c = 19, .k = 5, .h = {4}, .w = {6}}};
  for (const DeviceKind kind : devices())
    for (ConvShape s : shapes)
      for (const DType dtype : kTypes)
        for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast})
          for (int bits = 0; bits < 16; ++bits) {
            const End end{bool(bits & 1), bool(bits & 2), bool(bits & 4), bool(bits & 8)};
            s.dtype = dtype, s.x_layout = s.y_layout = layout;
            EXPECT_EQ(forward({.shape = s}, end, true, kind),
                      forward({.shape = s}, {end.bias, end.sum, end.relu, false}, false, kind))
                << name_of(dtype) << " " << name_of(layout) << " " << bits;
          }
}

TEST(FrozenWeights, MultiplyBitwiseEqually) {
  for (const DeviceKind kind : devices())
    for (const DType dtype : kTypes)
      for (const bool transpose : {false, true}) {
        Context context = context_on(kind);
        InnerProductRequest request{
            .rows = 3, .inputs = 21, .outputs = 5, .transpose = transpose, .bias = true, .post = relu_if(true)};
        request.dtype = dtype;
        const auto forward = [&](bool frozen) {
          request.frozen = frozen;
          std::string why;
          const auto product = make_inner_product_generic(request, context, why);
          const WeightFormat format = product->weight_format();
          EXPECT_EQ(format.dtype(), frozen ? dtype : DType::kF32);
          const Operand x(context, {{3, 21}, dtype}, random_values(63, 1)), y(context, {{3, 5}, dtype}),
              bias(context, {{5}, format.dtype()}, rounded(random_values(5, 3), dtype));
          const StoredWeight w(context, format, rounded(random_values(105, 2), dtype));
          product->forward(context, x.data(), w.data(), bias.data(), y.data(), nullptr);
          return y.values();
        };
        EXPECT_EQ(forward(true), forward(false)) << name_of(dtype);
      }
}

/// A frozen net's problem must differ from a training net's, because choices are recorded by problem.
TEST(FrozenWeights, HaveADifferentProblem) {
  ConvRequest request{.shape = {.n = 1, .c = 8, .k = 8, .h = {9, 3}, .w = {9, 3}}};
  const std::string live = describe(request, ConvDirection::kForward);
  request.frozen = true;
  EXPECT_NE(describe(request, ConvDirection::kForward), live);
}

TEST(FrozenWeights, UseTheGivenFormat) {
  Context context = context_on(DeviceKind::kSimulated);
  ConvRequest request{.shape = {.n = 1, .c = 8, .k = 8, .h = {9, 3}, .w = {9, 3}, .dtype = DType::kBF16}};
  const Shape w = request.shape.weight();
  std::string why;
  request.w_format = WeightFormat::of_type(w, DType::kBF16);
  EXPECT_FALSE(plain_conv_candidate().make(request, ConvDirection::kForward, context, why)) << "this net trains";
  EXPECT_EQ(why, "unsupported weight format");
  request.frozen = true;
  EXPECT_TRUE(make_conv(plain_conv_candidate(), request, context, why)->weight_format() == *request.w_format);
  request.w_format = WeightFormat(w);
  EXPECT_TRUE(make_conv(plain_conv_candidate(), request, context, why)->weight_format().is_plain());
  request.w_format = WeightFormat::of_type(w, DType::kF16);
  EXPECT_FALSE(plain_conv_candidate().make(request, ConvDirection::kForward, context, why));
}

}  // namespace
}  // namespace cortado::kernels

// Helpers of libraries' convolutions, on the simulated device.

#include "kernels/device/filters.h"

#include "tests/kernels/operand.h"

namespace cortado::kernels {
namespace {

using namespace testing;

const DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

TEST(Filters, ConvertBothWays) {
  for (const DeviceKind kind : devices()) {
    Context context = context_on(kind);
    const TensorSpec plain{{3, 5, 2, 3}};
    const Values w = random_values(plain.shape.count(), 1);
    for (const DType dtype : kTypes)
      for (const bool last : {false, true}) {
        const FilterCopy spec{3, 5, 6, last, dtype};
        EXPECT_EQ(spec.differs(), last || dtype != DType::kF32);
        const TensorSpec stored{plain.shape, dtype, last ? Layout::kChannelsLast : Layout::kPlain};
        const Operand from(context, plain, w), copy(context, stored), back(context, plain);
        ASSERT_EQ(spec.bytes(), stored.bytes());
        fill_filters(context, spec, from.data(), copy.data());
        EXPECT_EQ(copy.values(), rounded(w, dtype));
        for (const float factor : {1.0f, 4.0f})
          for (const float times : {1.0f, 2.0f}) {
            read_filters(context, spec, copy.data(), back.data(), times > 1, factor);
            Values expected = rounded(w, dtype);
            for (float& v : expected) v *= times * factor;
            EXPECT_EQ(back.values(), expected);
          }
      }
  }
}

TEST(Filters, ApplyBiasSumAndRelu) {
  for (const DeviceKind kind : devices()) {
    Context context = context_on(kind);
    const Values bias = random_values(5, 1);
    for (const DType dtype : kTypes)
      for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast})
        for (int options = 0; options < 8; ++options) {
          const bool has_bias = options & 1, relu = options & 2, sum = options & 4;
          const TensorSpec spec{{2, 5, 3, 4}, dtype, layout};
          const Values product = rounded(random_values(spec.shape.count(), 2), dtype),
                       before = rounded(random_values(spec.shape.count(), 3), dtype);
          std::vector<double> expected(product.size());
          for (size_t i = 0; i < expected.size(); ++i) {
            const double value = double(product[i]) + (sum ? before[i] : 0) + (has_bias ? bias[i / 12 % 5] : 0);
            expected[i] = relu ? std::max(0.0, value) : value;
          }
          const Operand from(context, spec, product), y(context, spec, before), b = floats_of(context, bias);
          const ConvolutionEnd end{.z = sum ? y.data() : nullptr,
                                   .bias = has_bias ? b.data() : nullptr,
                                   .activation = relu_if(relu).activation};
          finish_convolution(context, spec, from.data(), end, y.data());
          expect_near(y.values(), expected, 1e-6 + rounding(dtype), "y");
        }
  }
}

TEST(Filters, SumBiasGradientsOverChannels) {
  for (const DeviceKind kind : devices()) {
    Context context = context_on(kind);
    for (const DType dtype : kTypes)
      for (const TensorSpec& spec :
           {TensorSpec{{3, 5, 4, 7}, dtype}, TensorSpec{{3, 5, 4, 7}, dtype, Layout::kChannelsLast},
            TensorSpec{{9, 13}, dtype}, TensorSpec{{2, 3, 20, 30}, dtype}, TensorSpec{{40, 5000}, dtype},
            TensorSpec{{0, 4}, dtype}}) {
        const int64_t channels = spec.shape[1], inner = spec.shape.count(2);
        const Values dy = rounded(random_values(spec.shape.count(), 1), dtype);
        std::vector<double> expected(size_t(channels), 0.0);
        for (size_t i = 0; i < dy.size(); ++i) expected[i / size_t(inner) % size_t(channels)] += dy[i];
        const Operand operand(context, spec, dy), sums(context, {{channels}});
        const Fenced scratch(context, bias_gradient_scratch(spec));
        bias_gradient(context, spec, operand.data(), sums.data(), false, scratch.data());
        expect_near(sums.values(), expected, 1e-5, "dbias");
        bias_gradient(context, spec, operand.data(), sums.data(), true, scratch.data());
        for (double& v : expected) v *= 2;
        expect_near(sums.values(), expected, 1e-5, "dbias accumulated");
        scratch.expect_intact();
      }
  }
}

}  // namespace
}  // namespace cortado::kernels

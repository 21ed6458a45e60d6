// Channel sums of a convolution's results for a following batch normalization: fused, or in a separate kernel.

#include "kernels/conv.h"
#include "kernels/device/filters.h"
#include "tests/kernels/device_candidates.h"
#include "tests/kernels/operand.h"

namespace cortado::kernels {
namespace {

using namespace testing;

constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

/// Sums of each channel of y, and of its squares.
std::vector<double> sums_of(const Values& y, const Shape& shape) {
  const size_t channels = size_t(shape[1]), inner = size_t(shape.count(2));
  std::vector<double> sums(2 * channels);
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t c = i / inner % channels;
    sums[c] += y[i];
    sums[channels + c] += double(y[i]) * y[i];
  }
  return sums;
}

struct Result {
  Values y, sums;
};

Result run(const ConvCandidate& candidate, const ConvRequest& request, const Values& x, Context& context) {
  std::string why;
  const auto conv = make_conv(candidate, request, context, why);
  if (!conv) return {};
  const ConvShape& s = request.shape;
  const Operand x_in(context, s.x(), x), y(context, s.y()), sums = floats_of(context, Values(size_t(2 * s.k)));
  const StoredWeight w(context, conv->weight_format(), rounded(random_values(s.weight().count(), 2), s.dtype));
  const Fenced scratch(context, conv->forward_scratch());
  conv->forward(context, {.x = x_in.data(), .w = w.data(), .y = y.data(), .sums = sums.data()}, scratch.data());
  scratch.expect_intact();
  return {y.values(), sums.values()};
}

ConvShape shape_of(int64_t n, int64_t c, int64_t size, int64_t k, int64_t kernel, int64_t groups = 1) {
  const ConvAxis axis{size, kernel, 1, kernel / 2};
  return {.n = n, .c = c, .k = k, .groups = groups, .h = axis, .w = axis};
}

/// Packs of channels, single values, several shares of the positions, groups.
const ConvShape kShapes[] = {shape_of(2, 8, 9, 16, 3), shape_of(3, 5, 6, 7, 1), shape_of(2, 8, 96, 8, 1),
                             shape_of(2, 16, 7, 32, 3, 4)};

TEST(ConvSums, AreSumsOfTheStoredResults) {
  for (const DeviceKind kind : devices())
    for (const ConvCandidate& candidate : device_candidates())
      for (ConvShape s : kShapes)
        for (const DType dtype : kTypes)
          for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
            s.dtype = dtype, s.x_layout = s.y_layout = layout;
            Context context = context_on(kind);
            const Values x = rounded(random_values(s.x().shape.count(), 1), dtype);
            const ConvRequest apart{.shape = s}, request{.shape = s, .sums = true};
            const Result got = run(candidate, request, x, context);
            if (got.y.empty()) continue;
            SCOPED_TRACE(candidate.name + " " + describe(request, ConvDirection::kForward));
            if (candidate.name == "plain") {
              EXPECT_EQ(got.y, run(candidate, apart, x, context).y);
            }
            // A library may sum before rounding.
            const double roundings = rounding(dtype) * std::sqrt(double(s.n * s.y().shape.count(2)));
            expect_near(got.sums, sums_of(got.y, s.y().shape), candidate.name == "plain" ? 2e-5 : 1e-3 + roundings,
                        "sums");
          }
}

TEST(ConvSums, AreEqualInASeparateKernel) {
  for (const DeviceKind kind : devices())
    for (const DType dtype : kTypes)
      for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast})
        for (const Shape& shape : {Shape{2, 16, 9, 9}, Shape{3, 7, 6, 6}, Shape{2, 8, 96, 96}}) {
          Context context = context_on(kind);
          const TensorSpec spec{shape, dtype, layout};
          const Values y = rounded(random_values(shape.count(), 1), dtype);
          const Operand from(context, spec, y), sums = floats_of(context, Values(size_t(2 * shape[1]), NAN));
          const Fenced scratch(context, result_sums_scratch(spec));
          sum_results(context, spec, from.data(), sums.data(), scratch.data());
          expect_near(sums.values(), sums_of(y, shape), 2e-5, "sums");
          scratch.expect_intact();
        }
}

/// The sums are not shifted: if the mean is forty times the deviation, the variance is a difference of two large
/// numbers.
TEST(ConvSums, YieldTheVarianceOfChannelsFarFromZero) {
  for (const DeviceKind kind : devices()) {
    Context context = context_on(kind);
    ConvShape s = shape_of(4, 8, 64, 8, 1);
    s.dtype = DType::kF16, s.x_layout = s.y_layout = Layout::kChannelsLast;
    Values x = random_values(s.x().shape.count(), 1);
    for (float& v : x) v += 8;
    const Result got = run(plain_conv_candidate(), {.shape = s, .sums = true}, rounded(x, s.dtype), context);
    const double values = double(s.y().shape.count()) / double(s.k);
    const std::vector<double> exact = sums_of(got.y, s.y().shape);
    const auto variance = [&](const auto& sums, size_t c) {
      const double mean = double(sums[c]) / values;
      return double(sums[8 + c]) / values - mean * mean;
    };
    for (size_t c = 0; c < 8; ++c)
      EXPECT_NEAR(variance(got.sums, c), variance(exact, c), 3e-3 * variance(exact, c)) << "channel " << c;
  }
}

TEST(ConvSums, AreOnlyForDevices) {
  Context host(1);
  EXPECT_THROW(plan_conv({.shape = kShapes[0], .sums = true}, host), std::logic_error);
}

}  // namespace
}  // namespace cortado::kernels

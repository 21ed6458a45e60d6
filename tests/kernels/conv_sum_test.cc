// A convolution that adds another operand, in y or separate as the candidate requires. Compared with the convolution
// alone (which conv_test.cc compares with the definition), plus the sum and the ReLU computed here.

#include <utility>

#include "kernels/conv.h"
#include "tests/kernels/device_candidates.h"
#include "tests/kernels/operand.h"

namespace cortado::kernels {
namespace {

using namespace testing;

/// `apart`: if the candidate accepts it anywhere, the other operand is not in y.
Values forward(const ConvCandidate& candidate, const ConvRequest& request, const Values& added, DeviceKind kind,
               bool apart) {
  const ConvShape& s = request.shape;
  Context context = context_on(kind);
  std::string why;
  const auto conv = make_conv(candidate, request, context, why);
  if (!conv) return {};
  if (conv->sum_place() != SumPlace::kAnywhere) apart = conv->sum_place() == SumPlace::kApart;
  const Operand x(context, s.x(), random_values(s.x().shape.count(), 1)), z(context, s.y(), added),
      y = apart ? Operand(context, s.y()) : Operand(context, s.y(), added),
      bias = floats_of(context, random_values(s.k, 3));
  const StoredWeight w(context, conv->weight_format(), random_values(s.weight().count(), 2));
  const Fenced scratch(context, conv->forward_scratch());
  const ConvOperands io{.x = x.data(),
                        .w = w.data(),
                        .bias = request.bias ? bias.data() : nullptr,
                        .z = apart ? z.data() : y.data(),
                        .y = y.data()};
  conv->forward(context, io, scratch.data());
  scratch.expect_intact();
  return y.values();
}

/// Layouts of x and y: equal, and plain images.
constexpr std::pair<Layout, Layout> kLayouts[] = {{Layout::kPlain, Layout::kPlain},
                                                  {Layout::kChannelsLast, Layout::kChannelsLast},
                                                  {Layout::kBlocked16, Layout::kBlocked16},
                                                  {Layout::kPlain, Layout::kBlocked16}};

/// Returns how many cases the candidate accepts.
int check(const ConvCandidate& candidate, ConvShape s, DeviceKind kind = DeviceKind::kCpu) {
  int accepted = 0;
  const Values added = rounded(random_values(s.y().shape.count(), 4), s.dtype);
  for (const auto& [from, to] : kLayouts)
    for (const bool bias : {false, true})
      for (const bool relu : {false, true}) {
        s.x_layout = from, s.y_layout = to;
        ConvRequest request{.shape = s, .bias = bias};
        const Values alone = forward(candidate, request, added, kind, false);
        request.post = relu_if(relu, /*sum=*/true);
        const Values sum = forward(candidate, request, added, kind, false);
        EXPECT_EQ(forward(candidate, request, added, kind, true), sum) << "separate";
        if (alone.empty() || sum.empty()) continue;
        std::vector<double> expected(alone.begin(), alone.end());
        for (size_t i = 0; i < expected.size(); ++i) {
          expected[i] += added[i];
          if (relu && expected[i] < 0) expected[i] = 0;
        }
        expect_near(sum, expected, 1e-4 + 2 * rounding(s.dtype), name_of(to).c_str());
        ++accepted;
      }
  return accepted;
}

ConvShape square(int64_t c, int64_t k, int64_t kernel, int64_t stride, int64_t groups) {
  const ConvAxis axis{9, kernel, stride, kernel / 2};
  return {.n = 2, .c = c, .k = k, .groups = groups, .h = axis, .w = axis};
}

TEST(ConvSum, IsAddedBeforeTheRelu) {
  int accepted = 0;
  for (const ConvShape& s : {square(32, 48, 1, 1, 1), square(20, 20, 3, 2, 1), square(32, 32, 3, 1, 32),
                             square(32, 20, 3, 1, 1), square(6, 4, 3, 1, 2), square(3, 16, 3, 1, 1)}) {
    for (const ConvCandidate& candidate : conv_candidates()) {
      const int of_one = check(candidate, s);
      if (candidate.name == "gemm") {
        EXPECT_EQ(of_one, 16);
      }
      if (candidate.name == "winograd4x3" && s.h.kernel == 3 && s.h.stride == 1 && s.c == 32 && s.groups == 1) {
        EXPECT_EQ(of_one, 4);
      }
      if (candidate.name == "depthwise") {
        EXPECT_EQ(of_one, s.groups == 32 ? 4 : 0);
      }
      if (candidate.name == "first") {
        EXPECT_EQ(of_one, s.c == 3 ? 4 : 0);
      }
      accepted += of_one;
    }
  }
  EXPECT_GE(accepted, 5 * 16 + 24);
}

TEST(ConvSum, IsAddedToBfloat16) {
  int accepted = 0;
  for (ConvShape s : {square(32, 48, 1, 1, 1), square(32, 32, 3, 1, 32), square(16, 24, 3, 2, 1)})
    for (const ConvCandidate& candidate : half_conv_candidates()) {
      s.dtype = DType::kBF16;
      accepted += check(candidate, s);
    }
  EXPECT_GE(accepted, 3 * 16);
}

TEST(ConvSum, IsAddedOnDevicesInEveryType) {
  for (const DeviceKind kind : devices())
    for (ConvShape s : {square(32, 48, 1, 1, 1), square(32, 32, 3, 1, 32), square(16, 24, 3, 2, 1)})
      for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16})
        for (const ConvCandidate& candidate : device_candidates()) {
          s.dtype = dtype;
          const int accepted = check(candidate, s, kind);
          SCOPED_TRACE(candidate.name);
          EXPECT_GE(accepted, candidate.name == "plain" ? 8 : 0);
        }
}

}  // namespace
}  // namespace cortado::kernels

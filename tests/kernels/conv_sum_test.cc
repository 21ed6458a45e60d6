// A convolution that adds to what y holds, against the same one without (which conv_test.cc compares with the
// definition), the sum and the ReLU done here.

#include "kernels/conv.h"
#include "tests/kernels/operand.h"

namespace cortado::kernels {
namespace {

using namespace testing;

Values forward(const ConvCandidate& candidate, const ConvRequest& request, const Values& y_before) {
  const ConvShape& s = request.shape;
  Context context = context_on(candidate.name == "plain" ? DeviceKind::kSimulated : DeviceKind::kCpu);
  std::string why;
  const auto conv = make_conv(candidate, request, context, why);
  if (!conv) return {};
  const Operand x(context, s.x(), random_values(s.x().shape.count(), 1)), y(context, s.y(), y_before),
      bias = floats_of(context, random_values(s.k, 3));
  const StoredWeight w(context, conv->weight_format(), random_values(s.weight().count(), 2));
  const Fenced scratch(context, conv->forward_scratch());
  conv->forward(context, x.data(), w.data(), request.bias ? bias.data() : nullptr, y.data(), scratch.data());
  scratch.expect_intact();
  return y.values();
}

/// How many of the cases the candidate accepts.
int check(const ConvCandidate& candidate, ConvShape s) {
  int accepted = 0;
  const Values before = random_values(s.y().shape.count(), 4);
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16})
    for (const bool bias : {false, true})
      for (const bool relu : {false, true}) {
        s.x_layout = s.y_layout = layout;
        ConvRequest request{.shape = s, .bias = bias};
        const Values alone = forward(candidate, request, before);
        request.relu = relu;
        request.sum = true;
        const Values sum = forward(candidate, request, before);
        if (alone.empty() || sum.empty()) continue;
        std::vector<double> expected(alone.begin(), alone.end());
        for (size_t i = 0; i < expected.size(); ++i) {
          expected[i] += before[i];
          if (relu && expected[i] < 0) expected[i] = 0;
        }
        expect_near(sum, expected, 1e-4, name_of(layout).c_str());
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
    std::vector<ConvCandidate> candidates = conv_candidates();
    candidates.push_back(plain_conv_candidate());
    for (const ConvCandidate& candidate : candidates) {
      const int of_one = check(candidate, s);
      if (candidate.name == "gemm") {
        EXPECT_EQ(of_one, 12);
      }
      if (candidate.name == "plain") {
        EXPECT_EQ(of_one, 8);
      }
      if (candidate.name == "winograd4x3" && s.h.kernel == 3 && s.h.stride == 1 && s.c == 32 && s.groups == 1) {
        EXPECT_EQ(of_one, 4);
      }
      accepted += of_one;
    }
  }
  EXPECT_GE(accepted, 5 * 12 + 24);
}

}  // namespace
}  // namespace cortado::kernels

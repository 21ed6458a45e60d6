// Our local response normalization in both layouts and regions, compared with the formulas in double.

#include "kernels/lrn.h"

#include "tests/kernels/operand.h"

namespace cortado::kernels {
namespace {

using namespace testing;

/// Calls body(i, j) for every pair of neighbouring elements, including i = j.
template <typename Body>
void each_neighbour(const LrnRequest& r, const Body& body) {
  const Shape& s = r.x.shape;
  const int64_t half = r.size / 2, channels = r.within_channel ? 0 : half, places = r.within_channel ? half : 0;
  for (int64_t i = 0; i < s.count(); ++i) {
    const int64_t w = i % s[3], h = i / s[3] % s[2], c = i / s.count(2) % s[1], n = i / s.count(1);
    for (int64_t a = std::max<int64_t>(0, c - channels); a <= std::min(s[1] - 1, c + channels); ++a)
      for (int64_t b = std::max<int64_t>(0, h - places); b <= std::min(s[2] - 1, h + places); ++b)
        for (int64_t d = std::max<int64_t>(0, w - places); d <= std::min(s[3] - 1, w + places); ++d)
          body(size_t(i), size_t(((n * s[1] + a) * s[2] + b) * s[3] + d));
  }
}

struct Result {
  Values y, dx;
  bool operator==(const Result&) const = default;
};

Result run(const LrnRequest& r, int threads, const Values& x, const Values& dy, DeviceKind kind) {
  Context context = context_on(kind, threads);
  const auto lrn = plan_lrn(r, context);
  const Operand x_in(context, r.x, x), dy_in(context, r.x, dy), y(context, r.x), dx(context, r.x);
  const Fenced scratch(context, std::max(lrn->forward_scratch(), lrn->backward_scratch()));
  for (int pass = 0; pass < 2; ++pass) {
    lrn->forward(context, x_in.data(), y.data(), scratch.data());
    lrn->backward(context, x_in.data(), dy_in.data(), dx.data(), scratch.data());
  }
  scratch.expect_intact();
  return {y.values(), dx.values()};
}

void check(const LrnRequest& r, DeviceKind kind = DeviceKind::kCpu) {
  SCOPED_TRACE(r.x.shape.str() + " " + name_of(r.x.dtype) + " " + name_of(r.x.layout) +
               (r.within_channel ? " within " : " across ") + std::to_string(r.size) + " beta " +
               std::to_string(r.beta));
  Values x = random_values(r.x.shape.count(), 1);
  const Values dy = rounded(random_values(r.x.shape.count(), 2), r.x.dtype);
  for (float& v : x) v *= 4;
  x = rounded(x, r.x.dtype);
  const double alpha = double(r.alpha) / double(r.size * (r.within_channel ? r.size : 1));
  std::vector<double> s(x.size(), r.within_channel ? 1 : r.k), y(x.size()), dx(x.size());
  each_neighbour(r, [&](size_t i, size_t j) { s[i] += alpha * x[j] * x[j]; });
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * std::pow(s[i], -double(r.beta));
  for (size_t i = 0; i < x.size(); ++i) dx[i] = dy[i] * std::pow(s[i], -double(r.beta));
  each_neighbour(r, [&](size_t i, size_t j) { dx[i] -= 2 * alpha * r.beta * x[i] * dy[j] * y[j] / s[j]; });
  const Result got = run(r, 1, x, dy, kind);
  expect_near(got.y, y, 2e-6 + rounding(r.x.dtype), "y");
  expect_near(got.dx, dx, 1e-5 + rounding(r.x.dtype), "dx");
  EXPECT_TRUE(run(r, 3, x, dy, kind) == got) << "three threads";
}

TEST(Lrn, FollowsTheFormulas) {
  for (const Layout layout : {Layout::kPlain, Layout::kBlocked16})
    for (const bool within : {false, true})
      for (const Shape& shape : {Shape{2, 20, 5, 7}, Shape{1, 48, 3, 3}, Shape{3, 3, 6, 18}, Shape{1, 1, 1, 1}})
        for (const float beta : {0.75f, 0.5f, 1.0f, 0.6f})
          for (const int64_t size : {1, 3, 5, 41}) {
            LrnRequest r;
            r.x = {shape, DType::kF32, layout};
            r.within_channel = within, r.size = size, r.beta = beta, r.alpha = 0.8f, r.k = 1.5f, r.backward = true;
            check(r);
          }
}

TEST(Lrn, FollowsTheFormulasOfBfloat16) {
  for (const Layout layout : {Layout::kPlain, Layout::kBlocked16})
    for (const bool within : {false, true})
      for (const Shape& shape : {Shape{2, 20, 5, 7}, Shape{1, 1, 1, 1}}) {
        LrnRequest r;
        r.x = {shape, DType::kBF16, layout};
        r.within_channel = within, r.alpha = 0.8f, r.k = 1.5f, r.backward = true;
        check(r);
      }
}

TEST(Lrn, FollowsTheFormulasInEveryTypeOnDevices) {
  for (const DeviceKind kind : devices())
    for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast})
      for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16})
        for (const bool within : {false, true})
          for (const int64_t size : {1, 3, 5, 41}) {
            LrnRequest r;
            r.x = {{2, 20, 5, 7}, dtype, layout};
            r.within_channel = within, r.size = size, r.alpha = 0.8f, r.k = 1.5f, r.backward = true;
            check(r, kind);
          }
}

TEST(Lrn, KeepsPaddingAtZeroWithoutK) {
  LrnRequest r;
  r.x = {Shape{1, 20, 2, 2}, DType::kF32, Layout::kBlocked16};
  r.k = 0;
  run(r, 1, random_values(80, 1), random_values(80, 2), DeviceKind::kCpu);  // Operand::values() checks the padding
}

}  // namespace
}  // namespace cortado::kernels

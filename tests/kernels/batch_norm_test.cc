// Our batch normalisation in every layout, with and without its extras, against the formulas in double.

#include "kernels/batch_norm.h"

#include <algorithm>

#include "tests/kernels/operand.h"

namespace cortado::kernels {
namespace {

using namespace testing;

struct Reference {
  std::vector<double> mean, variance, y, dx, dgamma, dbeta;
};

Reference reference(const BatchNormRequest& r, const Values& x, const Values& gamma, const Values& beta,
                    const Values& dy, const Values& mean, const Values& variance) {
  const size_t channels = size_t(r.channels()), inner = size_t(r.x.shape.count(2));
  const auto channel = [&](size_t i) { return i / inner % channels; };
  const double m = double(x.size()) / double(channels);
  Reference e;
  e.mean.resize(channels), e.variance.resize(channels), e.dgamma.resize(channels), e.dbeta.resize(channels);
  e.y.resize(x.size()), e.dx.resize(x.size());
  for (size_t i = 0; i < x.size(); ++i) e.mean[channel(i)] += x[i] / m;
  for (size_t i = 0; i < x.size(); ++i) e.variance[channel(i)] += std::pow(x[i] - e.mean[channel(i)], 2) / m;
  for (size_t c = 0; r.given_statistics && c < channels; ++c) e.mean[c] = mean[c], e.variance[c] = variance[c];
  const auto deviation = [&](size_t c) { return std::sqrt(e.variance[c] + r.eps); };
  const auto hat = [&](size_t i) { return (x[i] - e.mean[channel(i)]) / deviation(channel(i)); };
  const auto factor = [&](size_t c) { return r.affine ? double(gamma[c]) : 1; };
  std::vector<double> g(dy.begin(), dy.end());
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = channel(i);
    const double v = hat(i) * factor(c) + (r.affine ? beta[c] : 0);
    e.y[i] = r.relu ? std::clamp(v, 0.0, double(r.ceiling)) : v;
    if (r.relu && (v <= 0 || v >= r.ceiling)) g[i] = 0;
    e.dbeta[c] += g[i];
    e.dgamma[c] += g[i] * hat(i);
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = channel(i);
    const double centred = r.given_statistics ? g[i] : g[i] - e.dbeta[c] / m - hat(i) * e.dgamma[c] / m;
    e.dx[i] = factor(c) / deviation(c) * centred;
  }
  return e;
}

struct Result {
  Values y, dx, mean, variance, dgamma, dbeta;
  bool operator==(const Result&) const = default;
};

Result run(const BatchNormRequest& r, int threads, const Values& x, const Values& gamma, const Values& beta,
           const Values& dy, const Values& mean, const Values& variance, bool in_place, DeviceKind kind) {
  Context context = context_on(kind, threads);
  const auto norm = plan_batch_norm(r, context);
  const Operand x_in(context, r.x, x), dy_in(context, r.x, dy), y(context, r.x), dx(context, r.x);
  const Operand mean_io = floats_of(context, mean), variance_io = floats_of(context, variance),
                gamma_in = floats_of(context, gamma), beta_in = floats_of(context, beta),
                dgamma = floats_of(context, Values(gamma.size(), NAN)),
                dbeta = floats_of(context, Values(gamma.size(), 0.5f));
  const Fenced scratch(context, std::max(norm->forward_scratch(), norm->backward_scratch()));
  BatchNormOperands io;
  io.x = x_in.data(), io.y = y.data();
  io.mean = mean_io.data(), io.variance = variance_io.data();
  if (r.affine) io.gamma = gamma_in.data(), io.beta = beta_in.data();
  io.scratch = scratch.data();
  norm->forward(context, io);
  io.dy = dy_in.data(), io.dx = in_place && norm->dx_may_overwrite_dy() ? dy_in.data() : dx.data();
  io.dgamma = dgamma.data(), io.dbeta = dbeta.data(), io.add_dbeta = true;
  norm->backward(context, io);
  EXPECT_EQ(x_in.values(), x) << "x was changed";
  scratch.expect_intact();
  return {y.values(),       in_place ? dy_in.values() : dx.values(),
          mean_io.values(), variance_io.values(),
          dgamma.values(),  dbeta.values()};
}

void check(BatchNormRequest r, DeviceKind kind = DeviceKind::kCpu) {
  r.backward = true;
  SCOPED_TRACE(r.x.shape.str() + " " + name_of(r.x.dtype) + " " + name_of(r.x.layout) + (r.affine ? " affine" : "") +
               (r.relu ? " relu" + std::to_string(r.ceiling) : "") + (r.given_statistics ? " given" : ""));
  const int64_t channels = r.channels();
  Values x = random_values(r.x.shape.count(), 1), dy = random_values(r.x.shape.count(), 2);
  for (float& v : x) v = v * 3 + 1;
  x = rounded(x, r.x.dtype), dy = rounded(dy, r.x.dtype);
  Values variance = random_values(channels, 5);
  for (float& v : variance) v += 1;
  const Values gamma = random_values(channels, 3), beta = random_values(channels, 4), mean = random_values(channels, 6);
  const Reference e = reference(r, x, gamma, beta, dy, mean, variance);
  const Result got = run(r, 1, x, gamma, beta, dy, mean, variance, false, kind);
  expect_near(got.y, e.y, 2e-5 + rounding(r.x.dtype), "y");
  expect_near(got.mean, e.mean, 1e-5, "mean");
  expect_near(got.variance, e.variance, 1e-5, "variance");
  const double sums = 1e-5 * std::sqrt(double(x.size()));
  expect_near(got.dgamma, e.dgamma, sums, "dgamma");
  std::vector<double> added = e.dbeta;
  for (double& v : added) v += 0.5;
  expect_near(got.dbeta, added, sums, "dbeta");
  expect_near(got.dx, e.dx, 1e-4 + rounding(r.x.dtype), "dx");
  for (const int threads : {2, 5})
    EXPECT_TRUE(run(r, threads, x, gamma, beta, dy, mean, variance, false, kind) == got) << threads << " threads";
  EXPECT_TRUE(run(r, 2, x, gamma, beta, dy, mean, variance, true, kind) == got) << "in place";
}

void check_extras(const TensorSpec& x, DeviceKind kind = DeviceKind::kCpu) {
  for (const bool given : {false, true})
    for (const bool affine : {false, true})
      for (const bool relu : {false, true}) {
        BatchNormRequest r;
        r.x = x, r.given_statistics = given, r.affine = affine, r.relu = relu;
        if (affine) r.ceiling = 0.75f;
        check(r, kind);
      }
}

TEST(BatchNorm, FollowsTheFormulas) {
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16})
    for (const Shape& shape : {Shape{3, 20, 5, 7}, Shape{2, 48, 8, 8}, Shape{4, 3, 1, 1}, Shape{5, 16, 3, 3}})
      check_extras({shape, DType::kF32, layout});
}

TEST(BatchNorm, FollowsTheFormulasOnDevices) {
  for (const DeviceKind kind : devices()) {
    for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast})
      for (const Shape& shape : {Shape{3, 20, 5, 7}, Shape{4, 3, 1, 1}})
        check_extras({shape, DType::kF32, layout}, kind);
    check_extras({{9, 35}, DType::kF32}, kind);
  }
}

TEST(BatchNorm, FollowsTheFormulasInSixteenBitsOnDevices) {
  BatchNormRequest r;
  r.affine = r.relu = true;
  for (const DeviceKind kind : devices())
    for (const DType dtype : {DType::kF16, DType::kBF16})
      for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast})
        for (const Shape& shape : {Shape{3, 20, 5, 7}, Shape{2, 24, 100, 90}}) {
          r.x = {shape, dtype, layout};
          check(r, kind);
        }
}

TEST(BatchNorm, TakesOtherNumbersOfAxes) {
  for (const Shape& shape : {Shape{9, 35}, Shape{3, 5, 21}, Shape{2, 3, 4, 5, 6}})
    check_extras({shape, DType::kF32, Layout::kPlain});
}

TEST(BatchNorm, TakesTensorsThatGoAroundTheCaches) {
  BatchNormRequest r;
  r.affine = r.relu = true;
  for (const Layout layout : {Layout::kPlain, Layout::kBlocked16}) {
    r.x = {Shape{2, 20, 176, 176}, DType::kF32, layout};
    check(r);
  }
}

TEST(BatchNorm, PassesNanOn) {
  Context context(1);
  BatchNormRequest r;
  r.x.shape = {2, 1, 2, 2};
  r.relu = true;
  for (const auto make : {make_batch_norm_own, make_batch_norm_plain}) {
    std::string why;
    const auto norm = make(r, context, why);
    const Values x = {1, 2, NAN, 4, 5, 6, 7, 8};
    Values y(8), mean(1), variance(1);
    BatchNormOperands io;
    io.x = x.data(), io.y = y.data(), io.mean = mean.data(), io.variance = variance.data();
    const Fenced scratch(context, norm->forward_scratch());
    io.scratch = scratch.data();
    norm->forward(context, io);
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_TRUE(std::isnan(variance[0]));
  }
}

}  // namespace
}  // namespace cortado::kernels

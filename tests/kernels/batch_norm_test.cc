// Our batch normalization in every layout, with and without fusions, compared with the formulas in double.

#include "kernels/batch_norm.h"

#include <algorithm>

#include "tests/kernels/operand.h"

namespace cortado::kernels {
namespace {

using namespace testing;

constexpr ChannelAffine kScaleAndShift = {.scales = true, .shifts = true};

struct Reference {
  std::vector<double> mean, variance, y, dx, daddend, dgamma, dbeta;
};

/// The inputs; requests without gamma, addend or given statistics use fewer of them.
struct Inputs {
  Values x, addend, dy, gamma, beta, mean, variance;
  Values parts[2] = {};  ///< of dy, if it comes in two
  Values map = {};       ///< of the addend
};

Reference reference(const BatchNormRequest& r, const Inputs& in) {
  const Values& x = in.x;
  const size_t channels = size_t(r.channels()), inner = size_t(r.x.shape.count(2));
  const auto channel = [&](size_t i) { return i / inner % channels; };
  const double m = double(x.size()) / double(channels);
  Reference e;
  e.mean.resize(channels), e.variance.resize(channels), e.dgamma.resize(channels), e.dbeta.resize(channels);
  e.y.resize(x.size()), e.dx.resize(x.size());
  for (size_t i = 0; i < x.size(); ++i) e.mean[channel(i)] += x[i] / m;
  for (size_t i = 0; i < x.size(); ++i) e.variance[channel(i)] += std::pow(x[i] - e.mean[channel(i)], 2) / m;
  for (size_t c = 0; r.given_statistics && c < channels; ++c) e.mean[c] = in.mean[c], e.variance[c] = in.variance[c];
  const auto deviation = [&](size_t c) { return std::sqrt(e.variance[c] + r.eps); };
  const auto hat = [&](size_t i) { return (x[i] - e.mean[channel(i)]) / deviation(channel(i)); };
  const auto factor = [&](size_t c) { return r.post.affine.empty() ? 1 : double(in.gamma[c]); };
  const auto addend = [&](size_t i) {
    if (!r.post.sum || !r.maps_addend) return r.post.sum ? double(in.addend[i]) : 0.0;
    return double(in.addend[i]) * in.map[channel(i)] + in.map[channels + channel(i)];
  };
  std::vector<double>& g = e.daddend;
  g.assign(in.dy.begin(), in.dy.end());
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = channel(i);
    const double v = hat(i) * factor(c) + (r.post.affine.empty() ? 0 : in.beta[c]) + addend(i);
    e.y[i] = r.post.activation ? std::clamp(v, 0.0, double(r.post.activation.ceiling)) : v;
    if (r.post.activation && (v <= 0 || v >= r.post.activation.ceiling)) g[i] = 0;
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
  Values y, dx, daddend, mean, variance, dgamma, dbeta;
  bool operator==(const Result&) const = default;
};

/// The memory of the operands.
struct Run {
  int threads = 1;
  bool in_place = false;    ///< gradients in dy's memory, y in the addend's
  bool y_is_there = false;  ///< in backward, instead of a mask
  bool wants_dx = true, wants_daddend = true;
};

/// Sums as from a convolution that writes x.
Values sums_of(const BatchNormRequest& r, const Values& x) {
  const size_t channels = size_t(r.channels()), inner = size_t(r.x.shape.count(2));
  std::vector<double> sums(2 * channels);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i / inner % channels;
    sums[c] += x[i];
    sums[channels + c] += double(x[i]) * x[i];
  }
  return {sums.begin(), sums.end()};
}

Result run(const BatchNormRequest& r, const Inputs& in, const Run& how, DeviceKind kind) {
  Context context = context_on(kind, how.threads);
  const auto norm = plan_batch_norm(r, context);
  const Operand x(context, r.x, in.x), addend(context, r.x, in.addend),
      dy(context, r.x, r.two_dy ? in.parts[0] : in.dy), more_dy(context, r.x, in.parts[1]), own_y(context, r.x),
      own_dx(context, r.x), own_daddend(context, r.x), sums = floats_of(context, sums_of(r, in.x)),
                                                       map = floats_of(context, in.map);
  const Operand mean = floats_of(context, in.mean), variance = floats_of(context, in.variance),
                gamma = floats_of(context, in.gamma), beta = floats_of(context, in.beta),
                dgamma = floats_of(context, Values(in.gamma.size(), NAN)),
                dbeta = floats_of(context, Values(in.gamma.size(), 0.5f));
  const Fenced scratch(context, std::max(norm->forward_scratch(), norm->backward_scratch())),
      mask(context, norm->mask_bytes());
  EXPECT_EQ(norm->mask_bytes() > 0, r.post.sum && r.post.activation);
  const bool has_daddend = r.post.sum && how.wants_daddend;
  const Operand& y = how.in_place && r.post.sum ? addend : own_y;
  const Operand& dx = how.in_place && !has_daddend ? dy : own_dx;
  const Operand& daddend = how.in_place ? dy : own_daddend;
  BatchNormOperands io;
  io.x = x.data(), io.y = y.data();
  if (r.post.sum) io.addend = addend.data();
  if (r.sums_given) io.sums = sums.data();
  if (r.maps_addend) io.addend_map = map.data();
  if (!how.y_is_there) io.mask = mask.data();
  io.mean = mean.data(), io.variance = variance.data();
  if (!r.post.affine.empty()) io.gamma = gamma.data(), io.beta = beta.data();
  io.scratch = scratch.data();
  norm->forward(context, io);
  const Values y_values = y.values();
  if (r.two_dy) io.more_dy = more_dy.data();
  io.dy = dy.data(), io.dx = how.wants_dx ? dx.data() : nullptr, io.daddend = has_daddend ? daddend.data() : nullptr;
  io.dgamma = dgamma.data(), io.dbeta = dbeta.data(), io.add_dbeta = true;
  if (!how.y_is_there) io.y = nullptr;
  io.addend = nullptr;
  norm->backward(context, io);
  EXPECT_EQ(x.values(), in.x) << "x was changed";
  scratch.expect_intact();
  mask.expect_intact();
  return {y_values,
          how.wants_dx ? dx.values() : Values(),
          has_daddend ? daddend.values() : Values(),
          mean.values(),
          variance.values(),
          dgamma.values(),
          dbeta.values()};
}

Inputs inputs(const BatchNormRequest& r) {
  const int64_t n = r.x.shape.count(), channels = r.channels();
  Inputs in{random_values(n, 1),        random_values(n, 7),        random_values(n, 2),
            random_values(channels, 3), random_values(channels, 4), random_values(channels, 6),
            random_values(channels, 5)};
  for (float& v : in.x) v = v * 3 + 1;
  for (float& v : in.variance) v += 1;
  for (Values* values : {&in.x, &in.addend, &in.dy}) *values = rounded(*values, r.x.dtype);
  in.map = random_values(2 * channels, 9);
  if (r.two_dy) {
    in.parts[0] = in.dy;
    in.parts[1] = rounded(random_values(n, 8), r.x.dtype);
    for (size_t i = 0; i < in.dy.size(); ++i) in.dy[i] += in.parts[1][i];
  }
  return in;
}

/// `summed`: dy is a sum, which is rounded when stored.
void expect_like(const Result& got, const Reference& e, DType dtype, DeviceKind kind, bool summed) {
  expect_near(got.y, e.y, 2e-5 + rounding(dtype), "y");
  // On the CPU the shift has more bits than most rounded values, so sums lose the same bits each time.
  const double of_sums = dtype == DType::kF32 || kind != DeviceKind::kCpu ? 1e-5 : 3e-4;
  expect_near(got.mean, e.mean, of_sums, "mean");
  expect_near(got.variance, e.variance, of_sums, "variance");
  const double sums = 1e-5 * std::sqrt(double(got.y.size()));
  expect_near(got.dgamma, e.dgamma, sums, "dgamma");
  std::vector<double> added = e.dbeta;
  for (double& v : added) v += 0.5;
  expect_near(got.dbeta, added, sums, "dbeta");
  const double of_dy = summed ? rounding(dtype) : 0;
  expect_near(got.dx, e.dx, 1e-4 + rounding(dtype) + of_dy, "dx");
  if (!got.daddend.empty()) expect_near(got.daddend, e.daddend, 1e-6 + of_dy, "daddend");
}

void check(BatchNormRequest r, DeviceKind kind = DeviceKind::kCpu) {
  r.backward = true;
  SCOPED_TRACE(r.x.shape.str() + " " + name_of(r.x.dtype) + " " + name_of(r.x.layout) + " " + to_text(r.post) +
               (r.given_statistics ? " given" : ""));
  const Inputs in = inputs(r);
  const Result got = run(r, in, {}, kind);
  expect_like(got, reference(r, in), r.x.dtype, kind, r.two_dy);
  for (const int threads : {2, 5}) EXPECT_TRUE(run(r, in, {.threads = threads}, kind) == got) << threads << " threads";
  EXPECT_TRUE(run(r, in, {.threads = 2, .in_place = true}, kind) == got) << "in place";
  if (!r.post.sum) return;
  if (kind == DeviceKind::kCpu) {
    EXPECT_TRUE(run(r, in, {.y_is_there = true}, kind) == got) << "by y";
  }
  for (const bool in_place : {false, true}) {
    Result part = got;
    part.daddend.clear();
    const Result without = run(r, in, {.in_place = in_place, .wants_daddend = false}, kind);
    if (r.two_dy)  // dx is computed from their sum, not from the rounded daddend
      expect_like(without, reference(r, in), r.x.dtype, kind, r.two_dy);
    else
      EXPECT_TRUE(without == part) << "without daddend";
    part = got;
    part.dx.clear();
    EXPECT_TRUE(run(r, in, {.in_place = in_place, .wants_dx = false}, kind) == part) << "without dx";
  }
}

void check_extras(const TensorSpec& x, DeviceKind kind = DeviceKind::kCpu) {
  for (const bool given : {false, true})
    for (const bool affine : {false, true})
      for (const bool adds : {false, true})
        for (const bool relu : {false, true}) {
          BatchNormRequest r;
          r.x = x, r.given_statistics = given, r.post = relu_if(relu, adds);
          if (affine) r.post.affine = {kScaleAndShift};
          if (affine && relu) r.post.activation = Activation::clipped_relu(0.75f);
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
      for (const Shape& shape : {Shape{3, 20, 5, 7}, Shape{3, 21, 4, 6}, Shape{4, 3, 1, 1}})
        check_extras({shape, DType::kF32, layout}, kind);
    for (const Shape& shape : {Shape{9, 35}, Shape{70, 24}}) check_extras({shape, DType::kF32}, kind);
  }
}

TEST(BatchNorm, FollowsTheFormulasOfBfloat16) {
  BatchNormRequest r;
  r.post = {.affine = {kScaleAndShift}, .activation = Activation::relu()};
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16})
    for (const Shape& shape : {Shape{3, 20, 5, 7}, Shape{2, 24, 50, 45}, Shape{4, 3, 1, 1}})
      for (const bool adds : {false, true}) {
        r.x = {shape, DType::kBF16, layout};
        r.post.sum = adds;
        check(r);
      }
}

TEST(BatchNorm, FollowsTheFormulasInSixteenBitsOnDevices) {
  BatchNormRequest r;
  r.post = {.affine = {kScaleAndShift}, .activation = Activation::relu()};
  for (const DeviceKind kind : devices())
    for (const DType dtype : {DType::kF16, DType::kBF16})
      for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast})
        for (const Shape& shape : {Shape{3, 20, 5, 7}, Shape{2, 24, 100, 90}, Shape{3, 32, 7, 7}})
          for (const bool adds : {false, true}) {
            r.x = {shape, dtype, layout};
            r.post.sum = adds;
            check(r, kind);
          }
}

/// Given sums from a convolution, two gradients of y, an addend with a map.
TEST(BatchNorm, SupportsFusionsOnDevices) {
  BatchNormRequest r;
  r.sums_given = r.two_dy = true;
  for (const DeviceKind kind : devices())
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16})
      for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast})
        for (const Shape& shape : {Shape{3, 20, 5, 7}, Shape{2, 24, 40, 30}, Shape{3, 32, 7, 7}})
          for (const bool adds : {false, true})
            for (const bool relu : {false, true}) {
              r.x = {shape, dtype, layout};
              r.post = relu_if(relu, adds);
              r.post.affine = {kScaleAndShift};
              r.maps_addend = adds;
              check(r, kind);
            }
}

TEST(BatchNorm, WritesAMapInsteadOfYOnDevices) {
  for (const DeviceKind kind : devices())
    for (const bool given : {false, true}) {
      BatchNormRequest r;
      r.x = {Shape{2, 24, 5, 7}, DType::kF16, Layout::kChannelsLast};
      r.post.affine = {kScaleAndShift};
      r.writes_map = true, r.given_statistics = given;
      const Inputs in = inputs(r);
      const Reference expected = reference(r, in);
      Context context = context_on(kind);
      const auto norm = plan_batch_norm(r, context);
      const Operand x(context, r.x, in.x), mean = floats_of(context, in.mean),
                                           variance = floats_of(context, in.variance),
                                           gamma = floats_of(context, in.gamma), beta = floats_of(context, in.beta),
                                           map = floats_of(context, Values(48, NAN));
      const Fenced scratch(context, norm->forward_scratch());
      BatchNormOperands io;
      io.x = x.data(), io.mean = mean.data(), io.variance = variance.data(), io.map = map.data();
      io.gamma = gamma.data(), io.beta = beta.data(), io.scratch = scratch.data();
      norm->forward(context, io);
      const Values left = map.values();
      Values y(in.x.size());
      for (size_t i = 0; i < y.size(); ++i) {
        const size_t c = i / 35 % 24;
        y[i] = std::fma(in.x[i], left[c], left[24 + c]);
      }
      expect_near(y, expected.y, 2e-5, "y");
      EXPECT_EQ(x.values(), in.x);
    }
}

TEST(BatchNorm, HasNoFusionsOnTheCpu) {
  Context context(1);
  for (bool BatchNormRequest::*what : {&BatchNormRequest::sums_given, &BatchNormRequest::two_dy,
                                       &BatchNormRequest::writes_map, &BatchNormRequest::maps_addend}) {
    BatchNormRequest r;
    r.x.shape = {2, 3, 4, 4};
    r.*what = true;
    std::string why;
    EXPECT_EQ(make_batch_norm_native(r, context, why), nullptr);
    EXPECT_NE(why, "");
  }
  EXPECT_EQ(batch_norm_fusions(context), BatchNormFusions());
}

/// Several shares of the positions and many lanes; more groups of channels than a tile has, and not a multiple.
TEST(BatchNorm, AddsSharesOnDevices) {
  BatchNormRequest r;
  r.post = {.affine = {kScaleAndShift}, .activation = Activation::relu()};
  for (const DeviceKind kind : devices())
    for (const auto& [shape, layout] :
         {std::pair{Shape{2, 8, 130, 61}, Layout::kChannelsLast},
          std::pair{Shape{4, 280, 12, 12}, Layout::kChannelsLast}, std::pair{Shape{40, 3, 8, 30}, Layout::kPlain}}) {
      r.x = {shape, DType::kF16, layout};
      check(r, kind);
    }
}

TEST(BatchNorm, KeepsARunningAverageOnDevices) {
  for (const DeviceKind kind : devices()) {
    BatchNormRequest r;
    r.x = {Shape{2, 5, 3, 3}, DType::kF32, Layout::kPlain};
    const Inputs in = inputs(r);
    const Reference expected = reference(r, in);
    Context context = context_on(kind, 1);
    const auto norm = plan_batch_norm(r, context);
    const Operand x(context, r.x, in.x), y(context, r.x);
    const Operand mean = floats_of(context, Values(5)), variance = floats_of(context, Values(5)),
                  means = floats_of(context, Values(5, 2)), variances = floats_of(context, Values(5, 4)),
                  factor = floats_of(context, {3});
    const Fenced scratch(context, norm->forward_scratch());
    BatchNormOperands io;
    io.x = x.data(), io.y = y.data(), io.mean = mean.data(), io.variance = variance.data();
    io.scratch = scratch.data();
    io.average = {.means = means.data(),
                  .variances = variances.data(),
                  .factor = factor.data(),
                  .kept = 0.5f,
                  .variance_share = 18.0f / 17};
    norm->forward(context, io);
    const bool keeps = norm->keeps_average();
    EXPECT_EQ(keeps, kind != DeviceKind::kCpu) << "on the CPU the layer updates it";
    std::vector<double> of_means(5, 2), of_variances(5, 4);
    for (size_t c = 0; keeps && c < 5; ++c) {
      of_means[c] = 1 + expected.mean[c];
      of_variances[c] = 2 + expected.variance[c] * 18 / 17;
    }
    expect_near(means.values(), of_means, 1e-5, "means");
    expect_near(variances.values(), of_variances, 1e-4, "variances");
    EXPECT_EQ(factor.values(), Values{keeps ? 2.5f : 3.0f});
  }
}

TEST(BatchNorm, SupportsOtherNumbersOfAxes) {
  for (const Shape& shape : {Shape{9, 35}, Shape{3, 5, 21}, Shape{2, 3, 4, 5, 6}})
    check_extras({shape, DType::kF32, Layout::kPlain});
}

TEST(BatchNorm, SupportsNonTemporalStores) {
  BatchNormRequest r;
  r.post = {.affine = {kScaleAndShift}, .activation = Activation::relu()};
  for (const Layout layout : {Layout::kPlain, Layout::kBlocked16})
    for (const bool adds : {false, true}) {
      r.x = {Shape{2, 20, 176, 176}, DType::kF32, layout};
      r.post.sum = adds;
      check(r);
    }
  r.x = {Shape{2, 48, 154, 154}, DType::kBF16, Layout::kBlocked16};
  r.post = {.affine = {kScaleAndShift}};  // among so many rounded sums some are 0 except for the last bit of a float
  check(r);
}

TEST(BatchNorm, PropagatesNan) {
  Context context(1);
  BatchNormRequest r;
  r.x.shape = {2, 1, 2, 2};
  r.post.activation = Activation::relu();
  for (const auto make : {make_batch_norm_native, make_batch_norm_generic}) {
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

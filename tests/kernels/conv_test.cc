// Every candidate, in every combination of layouts, compared with the definition of convolution in double.

#include "kernels/conv.h"

#include <algorithm>

#include "kernels/cpu_level.h"
#include "kernels/gemm.h"
#include "tests/harness/windows.h"
#include "tests/kernels/activation_reference.h"
#include "tests/kernels/device_candidates.h"
#include "tests/kernels/drawn_convs.h"
#include "tests/kernels/operand.h"

namespace cortado::kernels {
namespace {

using namespace testing;

std::vector<harness::WindowAxis> axes_of(const ConvShape& s) {
  std::vector<ConvAxis> axes = s.outer;
  axes.push_back(s.h);
  axes.push_back(s.w);
  std::vector<harness::WindowAxis> result;
  for (const ConvAxis& a : axes) result.push_back({a.in, a.kernel, a.stride, a.pad, a.dilation});
  return result;
}

/// Calls body(index in x, index in w, index in y) for every product of the sum.
template <typename Body>
void each_product(const ConvShape& s, const Body& body) {
  const int64_t c_of = s.c / s.groups, k_of = s.k / s.groups, taps = s.weight().count(2);
  const int64_t ins = s.x().shape.count(2), outs = s.y().shape.count(2);
  harness::each_meeting(axes_of(s), [&](int64_t in, int64_t tap, int64_t out) {
    for (int64_t n = 0; n < s.n; ++n)
      for (int64_t k = 0; k < s.k; ++k)
        for (int64_t c = 0; c < c_of; ++c)
          body(size_t((n * s.c + k / k_of * c_of + c) * ins + in), size_t((k * c_of + c) * taps + tap),
               size_t((n * s.k + k) * outs + out));
  });
}

struct Reference {
  std::vector<double> y, dx, dw, dbias;
};

Reference reference(const ConvRequest& request, const Values& x, const Values& w, const Values& bias,
                    const Values& dy) {
  const ConvShape& s = request.shape;
  const int64_t places = s.y().shape.count(2);
  Reference r{std::vector<double>(dy.size()), std::vector<double>(x.size()), std::vector<double>(w.size()),
              std::vector<double>(bias.size())};
  each_product(s, [&](size_t i, size_t j, size_t o) {
    r.y[o] += double(x[i]) * w[j];
    r.dx[i] += double(dy[o]) * w[j];
    r.dw[j] += double(dy[o]) * x[i];
  });
  for (size_t o = 0; o < dy.size(); ++o) {
    const size_t k = o / size_t(places) % size_t(s.k);
    if (!bias.empty()) r.dbias[k] += dy[o];
    if (!bias.empty()) r.y[o] += bias[k];
    r.y[o] = activation_reference(request.post.activation, r.y[o]);
  }
  return r;
}

/// The candidates whose name starts with `name`.
std::vector<ConvCandidate> named(const std::string& prefix) {
  std::vector<ConvCandidate> list;
  for (const ConvCandidate& candidate : conv_candidates())
    if (candidate.name.rfind(prefix, 0) == 0) list.push_back(candidate);
  return list;
}

/// Returns whether the candidate accepted; if so, compares all its results.
bool check(const ConvCandidate& candidate, const ConvRequest& request, DeviceKind kind = DeviceKind::kCpu,
           int threads = 2) {
  const ConvShape& s = request.shape;
  SCOPED_TRACE(candidate.name + " n" + std::to_string(s.n) + " c" + std::to_string(s.c) + " " + s.x().shape.str() +
               " " + name_of(s.dtype) + " " + name_of(s.x_layout) + " -> " + s.y().shape.str() + " " +
               name_of(s.y_layout) + " by " + s.weight().str());
  Context context = context_on(kind, threads);
  std::string why;
  auto conv = make_conv(candidate, request, context, why);
  if (!conv) {
    EXPECT_FALSE(why.empty());
    return false;
  }
  SCOPED_TRACE(conv->name());
  const Values x = rounded(random_values(s.x().shape.count(), 1), s.dtype),
               w = rounded(random_values(s.weight().count(), 2), s.dtype),
               bias = rounded(random_values(request.bias ? s.k : 0, 3), s.dtype),
               dy = rounded(random_values(s.y().shape.count(), 4), s.dtype);
  // Others may accumulate in the 16 bits of the result, round before they add a bias, and transform. On an H100 cuDNN's
  // errors were up to 2.4 times a rounding to 16 bits.
  const bool plain = candidate.name == "plain";
  const double terms = double(s.weight().count(2) * std::max(s.c, s.k)) / double(s.groups);
  const double spectra = candidate.name.ends_with("-bf16") ? 0.003 * std::sqrt(terms) : 0;
  const double base = plain                                    ? 1e-5
                      : candidate.name.starts_with("winograd") ? 2e-4
                                                               : 1e-4,
               sums = base + (plain ? 0 : 3 * rounding(s.dtype)) + 4 * spectra,
               values = base + (plain ? 1 : 3) * rounding(s.dtype) + spectra;
  const Reference expected = reference(request, x, w, bias, dy);
  const Operand x_in(context, s.x(), x), dy_in(context, s.y(), dy), y(context, s.y()), dx(context, s.x()),
      bias_memory = floats_of(context, bias);
  const StoredWeight w_in(context, conv->weight_format(), w);
  const Fenced scratch(context, std::max(conv->forward_scratch(), conv->backward_scratch()));
  const float* bias_in = request.bias ? bias_memory.data() : nullptr;

  for (int pass = 0; pass < 2; ++pass)
    conv->forward(context, {.x = x_in.data(), .w = w_in.data(), .bias = bias_in, .y = y.data()}, scratch.data());
  expect_near(y.values(), expected.y, values, "y");

  if (request.backward_data) {
    conv->backward_data(context, {.dy = dy_in.data(), .w = w_in.data(), .dx = dx.data()}, scratch.data());
    expect_near(dx.values(), expected.dx, values, "dx");
  }
  if (request.backward_weights) {
    StoredWeight dw(context, conv->weight_format()), dw_once(context, conv->weight_format());
    const Operand dbias(context, {{int64_t(bias.size())}});
    ConvOperands io{.x = x_in.data(), .dy = dy_in.data(), .d = {dw.data(), request.bias ? dbias.data() : nullptr}};
    conv->backward_weights(context, io, scratch.data());
    expect_near(dw.plain(context), expected.dw, sums, "dw");
    expect_near(dbias.values(), expected.dbias, sums, "dbias");

    io.d.add_w = io.d.add_bias = true;
    conv->backward_weights(context, io, scratch.data());
    std::vector<double> twice = expected.dw, twice_bias = expected.dbias;
    for (double& v : twice) v *= 2;
    for (double& v : twice_bias) v *= 2;
    expect_near(dw.plain(context), twice, sums, "dw accumulated");
    expect_near(dbias.values(), twice_bias, sums, "dbias accumulated");

    if (request.bias) {  // each may be null
      io.d = {dw_once.data(), nullptr};
      conv->backward_weights(context, io, scratch.data());
      io.d = {nullptr, dbias.data()};
      conv->backward_weights(context, io, scratch.data());
      expect_near(dw_once.plain(context), expected.dw, sums, "dw alone");
      expect_near(dbias.values(), expected.dbias, sums, "dbias alone");
    }
  }
  EXPECT_EQ(w_in.plain(context), w) << "the weights were changed";
  EXPECT_EQ(x_in.values(), x) << "x was changed";
  EXPECT_EQ(dy_in.values(), dy) << "dy was changed";
  scratch.expect_intact();
  return true;
}

ConvShape square(int64_t n, int64_t c, int64_t size, int64_t k, int64_t kernel, int64_t stride, int64_t pad,
                 int64_t groups = 1, int64_t dilation = 1) {
  const ConvAxis axis{size, kernel, stride, pad, dilation};
  return {.n = n, .c = c, .k = k, .groups = groups, .h = axis, .w = axis};
}

/// Shapes that cover every branch: few and odd channels, groups of every kind, strides, dilation, tall kernels, one
/// image.
std::vector<ConvShape> shapes() {
  std::vector<ConvShape> list = {
      square(2, 1, 12, 20, 5, 1, 0),        square(3, 20, 8, 50, 5, 1, 0),      square(2, 3, 16, 32, 5, 1, 2),
      square(1, 3, 23, 16, 7, 2, 3),        square(1, 16, 9, 32, 3, 1, 1),      square(2, 32, 7, 16, 3, 2, 1),
      square(2, 20, 6, 20, 3, 1, 1),        square(2, 32, 6, 64, 1, 1, 0),      square(2, 64, 7, 32, 1, 2, 0),
      square(2, 6, 9, 4, 3, 1, 1, 2),       square(2, 32, 8, 32, 3, 1, 1, 32),  square(2, 20, 8, 20, 3, 2, 1, 20),
      square(2, 32, 8, 64, 3, 1, 1, 2),     square(2, 32, 8, 32, 3, 1, 1, 4),   square(2, 8, 8, 16, 3, 1, 1, 8),
      square(1, 16, 12, 16, 3, 1, 2, 1, 2), square(2, 5, 11, 7, 3, 2, 3, 1, 3), square(2, 17, 5, 1, 1, 1, 0),
      square(2, 16, 3, 16, 3, 1, 5),        square(1, 2, 5, 3, 2, 3, 0),        square(2, 16, 5, 16, 1, 1, 1)};
  list.push_back({.n = 2, .c = 20, .k = 18, .h = {9, 1, 1, 0}, .w = {10, 7, 2, 3}});
  list.push_back({.n = 1, .c = 16, .k = 32, .h = {12, 5, 3, 1, 2}, .w = {4, 1}});
  list.push_back({.n = 2, .c = 16, .k = 32, .h = {11, 3, 1, 2, 1}, .w = {8, 2, 2, 1, 3}});  // all of the axes differ
  list.push_back({.n = 2, .c = 16, .k = 16, .groups = 16, .h = {8, 2, 2, 1, 3}, .w = {11, 3, 1, 2, 1}});
  list.push_back({.n = 2, .c = 4, .k = 6, .h = {}, .w = {15, 4, 2, 1}, .spatial_axes = 1});
  const auto more_axes = [&](ConvShape s, const std::vector<ConvAxis>& outer) {
    s.outer = outer;
    s.spatial_axes = int(outer.size()) + 2;
    list.push_back(s);
  };
  more_axes({.n = 2, .c = 4, .k = 6, .groups = 2, .h = {5, 3, 1, 1}, .w = {6, 2, 2}}, {{7, 3, 2, 2, 2}});
  more_axes({.n = 2, .c = 3, .k = 2, .h = {4, 1}, .w = {5, 1}}, {{3, 1}});
  more_axes({.n = 1, .c = 2, .k = 3, .h = {3, 2}, .w = {4, 2, 1, 1}}, {{4, 3}, {3, 1, 2}});
  return list;
}

constexpr Layout kBlocked = Layout::kBlocked16;
const Layout kLayouts[] = {Layout::kPlain, Layout::kChannelsLast, kBlocked};

/// Checks each shape in each combination of layouts; returns how many the candidate accepted.
int check_shapes(const ConvCandidate& candidate, const std::vector<ConvShape>& shapes, DType dtype = DType::kF32) {
  int accepted = 0;
  for (ConvShape s : shapes)
    for (Layout x : kLayouts)
      for (Layout y : kLayouts) {
        if (s.spatial_axes != 2 && (x != Layout::kPlain || y != Layout::kPlain)) continue;
        s.x_layout = x;
        s.y_layout = y;
        s.dtype = dtype;
        accepted += check(candidate, {s, /*bias=*/true, /*post=*/{}, true, true});
        if (::testing::Test::HasFatalFailure()) return accepted;
      }
  return accepted;
}

TEST(ConvGemm, AcceptsEverythingAndAgreesWithTheDefinition) {
  EXPECT_EQ(check_shapes(named("gemm").front(), shapes()), 25 * 9 + 4);
}

TEST(ConvGemm, OfOpenBlasAcceptsEverythingAndAgreesWithTheDefinition) {
  if (openblas_version().empty()) GTEST_SKIP() << "OpenBLAS is not installed";
  ConvCandidate openblas = named("openblas").front();
  openblas.make = [make = openblas.make](const ConvRequest& request, ConvDirection direction, Context& context,
                                         std::string& why) {
    return make(request, direction, without_generated_code(context), why);
  };
  EXPECT_EQ(check_shapes(openblas, shapes()), 25 * 9 + 4);
}

TEST(ConvGemm, OfOpenBlasNeedsCpusWithoutOneDnnCode) {
  Context context(1);
  context.handle<CpuLevels>().onednn_generates = true;
  std::string why;
  EXPECT_FALSE(make_conv(named("openblas").front(), {square(1, 4, 6, 4, 1, 1, 0)}, context, why));
  EXPECT_EQ(why, "oneDNN generates code for this CPU");
}

/// Checks each shape in each type and combination of layouts of devices; returns how many were accepted.
int check_on_device(const ConvCandidate& candidate, DeviceKind kind) {
  int accepted = 0;
  for (ConvShape s : shapes())
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16})
      for (Layout x : {Layout::kPlain, Layout::kChannelsLast})
        for (Layout y : {Layout::kPlain, Layout::kChannelsLast}) {
          if (s.spatial_axes != 2 && (x != Layout::kPlain || y != Layout::kPlain)) continue;
          s.dtype = dtype, s.x_layout = x, s.y_layout = y;
          const ConvRequest request{s, /*bias=*/true, relu_if(accepted % 2 == 1), true, true};
          accepted += check(candidate, request, kind);
        }
  return accepted;
}

TEST(ConvOnDevices, AgreesWithTheDefinitionInEveryType) {
  for (const DeviceKind kind : devices())
    for (const ConvCandidate& candidate : device_candidates()) {
      const int accepted = check_on_device(candidate, kind);
      SCOPED_TRACE(candidate.name);
      const bool plain = candidate.name == "plain", cudnn = candidate.name == "cudnn" && kind == DeviceKind::kCuda;
      EXPECT_GE(accepted, plain ? 25 * 12 + 12 : cudnn ? 25 * 6 : 0);
      EXPECT_TRUE(plain || kind == DeviceKind::kCuda || accepted == 0);
    }
}

TEST(ConvOnDevices, FallsBackToPlain) {
  Context device = context_on(DeviceKind::kSimulated), host(2);
  ConvShape s = square(2, 16, 6, 16, 3, 1, 1);
  EXPECT_EQ(plan_conv({s, true, relu_if(true), true, true}, device)->name(), "plain");
  s.dtype = DType::kF16;
  EXPECT_EQ(plan_conv({s, true, relu_if(true), true, true}, host)->name(), "plain");
}

/// Shapes that are divided into pieces: of images, of outputs with a remainder, with groups, of an image with few
/// channels.
std::vector<ConvShape> divided_shapes() {
  return {square(5, 16, 10, 48, 3, 1, 1), square(1, 32, 10, 200, 3, 1, 1), square(2, 96, 12, 136, 1, 1, 0),
          square(1, 64, 8, 300, 1, 1, 0), square(9, 3, 16, 20, 5, 1, 2),   square(4, 64, 10, 64, 3, 1, 1, 2),
          square(3, 32, 14, 32, 3, 2, 1)};
}

/// Calls check(candidate, request) for each candidate and each divided shape in the layouts that nets use.
template <typename Check>
void check_divided(const std::vector<ConvCandidate>& candidates, DType dtype, const Check& check_one) {
  for (const ConvCandidate& candidate : candidates)
    for (ConvShape s : divided_shapes())
      for (const auto& [x, y] : {std::pair{kBlocked, kBlocked},
                                 {Layout::kPlain, kBlocked},
                                 {Layout::kPlain, Layout::kPlain},
                                 {Layout::kChannelsLast, Layout::kChannelsLast}}) {
        s.x_layout = x, s.y_layout = y, s.dtype = dtype;
        check_one(candidate, ConvRequest{s, /*bias=*/true, relu_if(true), /*backward_data=*/s.c > 3, true});
      }
}

TEST(ConvInPieces, AgreesWithTheDefinition) {
  int accepted = 0;
  const auto check_one = [&](const ConvCandidate& candidate, const ConvRequest& request) {
    accepted += check(candidate, request);
  };
  check_divided(conv_candidates(), DType::kF32, check_one);
  EXPECT_GT(accepted, 40);
}

/// y, dx, dw and dbias, one after the other; empty if the candidate declines.
Values results_of(const ConvCandidate& candidate, const ConvRequest& request, int threads) {
  const ConvShape& s = request.shape;
  Context context = context_on(DeviceKind::kCpu, threads);
  std::string why;
  auto conv = make_conv(candidate, request, context, why);
  if (!conv) return {};
  const Operand x(context, s.x(), rounded(random_values(s.x().shape.count(), 1), s.dtype)),
      dy(context, s.y(), rounded(random_values(s.y().shape.count(), 4), s.dtype)), y(context, s.y()),
      dx(context, s.x(), Values(size_t(s.x().shape.count()))), bias = floats_of(context, random_values(s.k, 3)),
                                                               dbias(context, {{s.k}});
  const StoredWeight w(context, conv->weight_format(), rounded(random_values(s.weight().count(), 2), s.dtype));
  StoredWeight dw(context, conv->weight_format());
  const Fenced scratch(context, std::max(conv->forward_scratch(), conv->backward_scratch()));
  conv->forward(context, {.x = x.data(), .w = w.data(), .bias = bias.data(), .y = y.data()}, scratch.data());
  if (request.backward_data)
    conv->backward_data(context, {.dy = dy.data(), .w = w.data(), .dx = dx.data()}, scratch.data());
  conv->backward_weights(context, {.x = x.data(), .dy = dy.data(), .d = {dw.data(), dbias.data()}}, scratch.data());
  Values all;
  for (const Values& part : {y.values(), dx.values(), dw.plain(context), dbias.values()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(ConvInPieces, ResultsDoNotDependOnThreads) {
  const auto check_one = [](const ConvCandidate& candidate, const ConvRequest& request) {
    SCOPED_TRACE(candidate.name + " " + describe(request, ConvDirection::kForward));
    const Values alone = results_of(candidate, request, 1);
    for (const int threads : {2, 3, 4}) EXPECT_TRUE(results_of(candidate, request, threads) == alone) << threads;
  };
  check_divided(conv_candidates(), DType::kF32, check_one);
  check_divided(half_conv_candidates(), DType::kBF16, check_one);
}

TEST(ConvOfBfloat16, AgreesWithTheDefinition) {
  int by_onednn = 0;
  for (const ConvCandidate& candidate : half_conv_candidates()) {
    const int accepted = check_shapes(candidate, shapes(), DType::kBF16);
    if (candidate.name == "gemm-floats") {
      EXPECT_EQ(accepted, 25 * 9 + 4) << "the last candidate accepts everything";
    }
    if (candidate.name.starts_with("onednn")) by_onednn += accepted;
  }
  EXPECT_GT(by_onednn, multiplies_bfloat16() ? 100 : -1);
}

TEST(ConvOneDnn, AgreesWithTheDefinition) {
  int accepted = 0;
  for (const ConvCandidate& candidate : named("onednn")) accepted += check_shapes(candidate, shapes());
  EXPECT_GT(accepted, 100);
}

TEST(ConvWinograd, AgreesWithTheDefinition) {
  std::vector<ConvShape> list = {
      square(2, 16, 9, 32, 3, 1, 1),  square(1, 20, 7, 20, 3, 1, 0),    square(1, 48, 12, 16, 3, 1, 2),
      square(3, 64, 8, 64, 3, 1, 1),  square(2, 32, 8, 64, 3, 1, 1, 2), square(2, 16, 9, 32, 5, 1, 2),
      square(1, 20, 12, 50, 5, 1, 0), square(1, 33, 7, 16, 5, 1, 4),    square(2, 96, 6, 32, 5, 1, 2, 2),
      square(1, 3, 5, 5, 3, 1, 1),    square(40, 16, 9, 16, 3, 1, 1)};
  list.push_back({.n = 2, .c = 24, .k = 40, .h = {11, 3, 1, 1}, .w = {4, 3, 1, 0}});
  for (ConvShape& s : list) s.x_layout = s.y_layout = Layout::kBlocked16;
  int accepted = 0;
  for (const ConvCandidate& candidate : named("winograd"))
    for (const ConvShape& s : list) accepted += check(candidate, {s, /*bias=*/true, /*post=*/{}, true, true});
  EXPECT_EQ(accepted, 2 * 12);
}

/// Rounded spectra lose about as much precision as rounding the result, relative to the largest values.
TEST(ConvWinograd, OfBfloat16IsNearTheDefinition) {
  std::vector<ConvShape> list = {square(2, 16, 9, 32, 3, 1, 1),    square(1, 20, 7, 20, 3, 1, 0),
                                 square(1, 48, 12, 16, 3, 1, 2),   square(3, 64, 8, 64, 3, 1, 1),
                                 square(2, 32, 8, 64, 3, 1, 1, 2), square(40, 16, 9, 16, 3, 1, 1)};
  list.push_back({.n = 1, .c = 24, .k = 40, .h = {11, 3, 1, 1}, .w = {5, 3, 1, 0}});
  for (ConvShape& s : list) s.x_layout = s.y_layout = Layout::kBlocked16, s.dtype = DType::kBF16;
  for (const ConvCandidate& candidate : half_winograd_conv_candidates())
    for (const ConvShape& s : list)
      for (const bool relu : {false, true})
        EXPECT_TRUE(check(candidate, {s, /*bias=*/true, relu_if(relu), true, true})) << candidate.name;
}

/// |a - b| / |b|
double relative_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (double(a[i]) - b[i]) * (double(a[i]) - b[i]);
    norm += double(b[i]) * b[i];
  }
  return std::sqrt(difference / norm);
}

/// y, dx and dw of one candidate, plain.
std::vector<std::vector<float>> results(const ConvCandidate& candidate, const ConvShape& s, int threads = 2) {
  Context context(threads);
  std::string why;
  const auto conv = make_conv(candidate, {s, false, {}, true, true}, context, why);
  if (!conv) throw std::runtime_error(candidate.name + ": " + why);
  const Operand x(context, s.x(), random_values(s.x().shape.count(), 1)),
      dy(context, s.y(), random_values(s.y().shape.count(), 2)), y(context, s.y()), dx(context, s.x());
  const StoredWeight w(context, conv->weight_format(), random_values(s.weight().count(), 3)),
      dw(context, conv->weight_format());
  const Fenced scratch(context, std::max(conv->forward_scratch(), conv->backward_scratch()));
  conv->forward(context, {.x = x.data(), .w = w.data(), .y = y.data()}, scratch.data());
  conv->backward_data(context, {.dy = dy.data(), .w = w.data(), .dx = dx.data()}, scratch.data());
  conv->backward_weights(context, {.x = x.data(), .dy = dy.data(), .d = {dw.data()}}, scratch.data());
  return {y.values(), dx.values(), dw.plain(context)};
}

TEST(Conv, EveryCandidateAgreesForDrawnShapes) {
  RandomStream random(5);
  for (ConvShape s : drawn_convs(600, 7, {1, 3, 8, 16})) {
    s.x_layout = kLayouts[random.below(3)];
    s.y_layout = kLayouts[random.below(3)];
    s.dtype = random.below(3) ? DType::kF32 : DType::kBF16;
    for (const ConvCandidate& candidate : conv_candidates()) {
      check(candidate, {s, /*bias=*/true, /*post=*/{}, true, true});
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST(ConvWinograd, IsAccurate) {
  for (ConvShape s :
       {square(2, 64, 56, 64, 3, 1, 1), square(1, 512, 28, 512, 3, 1, 1), square(2, 64, 27, 64, 5, 1, 2)}) {
    s.x_layout = s.y_layout = Layout::kBlocked16;
    const auto direct = results(direct_conv_candidate(), s);
    for (const ConvCandidate& candidate : conv_candidates()) {
      if (candidate.name.find("winograd") == std::string::npos) continue;
      if (candidate.name == "onednn-winograd" && onednn_level() != CpuLevel::kAvx512) continue;
      if (candidate.name.back() != (s.h.kernel == 3 ? '3' : '5') && (s.h.kernel == 5 || candidate.name[0] == 'w'))
        continue;
      const auto found = results(candidate, s);
      for (size_t i = 0; i < 3; ++i)
        EXPECT_LE(relative_distance(found[i], direct[i]), 1e-5) << candidate.name << " " << s.c << " result " << i;
    }
  }
}

/// Shapes with one group, for kernels of blocked tensors.
std::vector<ConvShape> shapes_in_blocks() {
  std::vector<ConvShape> list = {
      square(2, 16, 9, 32, 3, 1, 1),        square(1, 20, 7, 20, 3, 1, 0),  square(1, 48, 12, 16, 1, 1, 0),
      square(3, 64, 8, 80, 1, 1, 0),        square(2, 33, 9, 17, 5, 1, 2),  square(1, 20, 12, 50, 3, 1, 1, 1, 2),
      square(2, 40, 11, 16, 1, 2, 0),       square(2, 32, 11, 48, 3, 2, 1), square(1, 24, 13, 16, 3, 3, 4),
      square(1, 16, 9, 16, 2, 2, 0),        square(9, 64, 14, 32, 1, 1, 0), square(2, 96, 30, 16, 3, 1, 1),
      square(1, 16, 12, 16, 3, 2, 2, 1, 3), square(1, 16, 4, 16, 1, 1, 2),  square(3, 50, 7, 40, 3, 1, 1),
      square(1, 96, 7, 32, 3, 1, 1)};  // the maximum of tiles in a column, and fewer
  list.push_back({.n = 2, .c = 24, .k = 40, .h = {11, 3, 1, 1}, .w = {4, 2, 2, 0}});
  for (ConvShape& s : list) s.x_layout = s.y_layout = Layout::kBlocked16;
  return list;
}

TEST(ConvDirect, AgreesWithTheDefinition) {
  std::vector<ConvShape> list = shapes_in_blocks();
  list.insert(list.end(),
              {square(9, 96, 14, 80, 1, 1, 0), square(2, 64, 9, 96, 3, 1, 1, 2), square(2, 16, 3, 16, 3, 1, 5),
               square(1, 16, 30, 16, 1, 3, 0), square(2, 32, 11, 64, 3, 2, 1, 2, 1), square(1, 3, 13, 5, 7, 2, 3)});
  list.push_back({.n = 1, .c = 16, .k = 32, .h = {12, 5, 3, 1, 2}, .w = {4, 1}});
  for (ConvShape s : list) {
    s.x_layout = s.y_layout = Layout::kBlocked16;
    for (const bool relu : {false, true})
      EXPECT_TRUE(check(direct_conv_candidate(), {s, /*bias=*/true, relu_if(relu), true, true}));
  }
  EXPECT_EQ(check_shapes(direct_conv_candidate(), shapes()), 19);  // neither groups with unused lanes nor other axes
}

TEST(ConvDepthwise, AgreesWithTheDefinition) {
  std::vector<ConvShape> list;
  const auto depthwise = [&](int64_t n, int64_t c, const ConvAxis& h, const ConvAxis& w) {
    list.push_back({.n = n, .c = c, .k = c, .groups = c, .h = h, .w = w, .x_layout = kBlocked, .y_layout = kBlocked});
  };
  const ConvAxis axes[] = {
      {14, 3, 1, 1},    {14, 3, 2, 1},  {7, 3, 1, 1}, {9, 3, 2, 0}, {20, 3, 1, 0}, {11, 5, 1, 2},    {12, 5, 2, 2},
      {13, 3, 3, 4},    {8, 1, 1, 0},   {9, 1, 2, 0}, {9, 2, 2, 0}, {9, 2, 3, 1},  {15, 3, 1, 2, 2}, {15, 3, 2, 3, 3},
      {16, 3, 4, 2, 2}, {17, 16, 1, 8}, {3, 3, 1, 5}, {2, 5, 1, 2}, {1, 3, 1, 1},  {4, 4, 1, 1},     {30, 13, 2, 6}};
  int64_t c = 20;
  for (const ConvAxis& axis : axes) depthwise(2, c = 7 * c % 61 + 2, axis, axis);  // from 2 to 62 channels
  for (size_t i = 0; i + 1 < std::size(axes); ++i) depthwise(1, 17, axes[i], axes[i + 1]);
  depthwise(1, 16, {60, 3, 1, 1}, {130, 3, 1, 1});  // more than a chunk of rows
  depthwise(70, 3, {3, 3, 1, 1}, {4, 3, 2, 1});
  depthwise(1, 1040, {4, 3, 1, 1}, {4, 3, 1, 1});
  for (const ConvShape& s : list)
    for (const bool relu : {false, true})
      EXPECT_TRUE(check(depthwise_conv_candidate(), {s, /*bias=*/true, relu_if(relu), true, true}));
  EXPECT_EQ(check_shapes(depthwise_conv_candidate(), shapes()), 3);  // depthwise with blocked layouts
}

TEST(ConvDepthwise, IsIndependentOfTheNumberOfThreads) {
  ConvShape s = square(3, 40, 19, 40, 3, 2, 1, 40);
  s.x_layout = s.y_layout = kBlocked;
  const auto one = results(depthwise_conv_candidate(), s, 1);
  for (const int threads : {2, 3, 7}) EXPECT_EQ(results(depthwise_conv_candidate(), s, threads), one) << threads;
}

/// Plain images: several chunks of rows, and fewer than threads; windows beyond every edge.
std::vector<ConvShape> shapes_of_images() {
  std::vector<ConvShape> list = {
      square(2, 1, 28, 20, 5, 1, 0),       square(3, 3, 32, 32, 5, 1, 2),      square(2, 3, 67, 96, 11, 4, 0),
      square(1, 3, 56, 64, 7, 2, 3),       square(1, 3, 224, 16, 3, 1, 1),     square(5, 3, 33, 32, 3, 2, 1),
      square(1, 4, 13, 20, 3, 1, 1, 1, 2), square(2, 8, 9, 17, 3, 2, 2, 1, 2), square(1, 1, 2, 3, 5, 1, 4),
      square(2, 3, 1, 16, 7, 1, 3),        square(1, 2, 5, 33, 3, 4, 3, 1, 2), square(9, 1, 1, 1, 1, 1, 0),
      square(1, 3, 4, 20, 2, 3, 9)};
  list.push_back({.n = 2, .c = 3, .k = 20, .h = {40, 3, 2, 1}, .w = {3, 5, 1, 2}});
  list.push_back({.n = 1, .c = 4, .k = 16, .h = {3, 3, 1, 1, 2}, .w = {900, 2, 1, 1, 3}});
  for (ConvShape& s : list) s.y_layout = Layout::kBlocked16;
  return list;
}

TEST(ConvFirst, AgreesWithTheDefinition) {
  for (const ConvShape& s : shapes_of_images())
    for (const int threads : {1, 2, 3})
      for (const bool bias : {false, true})
        EXPECT_TRUE(check(first_conv_candidate(), {s, bias, relu_if(bias), false, true}, DeviceKind::kCpu, threads));
}

TEST(ConvFirst, DeclinesGradientsOfImagesAndOtherLayouts) {
  Context context(2);
  ConvShape s = square(2, 3, 9, 16, 3, 1, 1);
  std::string why;
  EXPECT_FALSE(make_conv(first_conv_candidate(), {s}, context, why));
  EXPECT_EQ(why, "not from plain to blocks");
  s.y_layout = Layout::kBlocked16;
  EXPECT_FALSE(make_conv(first_conv_candidate(), {s, true, {}, true, true}, context, why));
  EXPECT_EQ(why, "images have no gradient for dx");
  EXPECT_TRUE(make_conv(first_conv_candidate(), {s, true, {}, false, true}, context, why));
  s.h.pad = s.w.pad = 1 << 30;
  EXPECT_FALSE(make_conv(first_conv_candidate(), {s}, context, why));
  EXPECT_EQ(why, "too large");
}

TEST(ConvAmx, AgreesWithTheDefinition) {
  int accepted = 0;
  for (const ConvCandidate& candidate : named("amx"))
    for (const ConvShape& s : shapes_in_blocks()) {
      const bool dx = s.h.stride == 1 && s.w.stride == 1;
      accepted += check(candidate, {s, /*bias=*/true, relu_if(true), dx, /*backward_weights=*/true});
    }
  EXPECT_TRUE(accepted == 0 || accepted == 17) << accepted;  // all, or no AMX
}

TEST(ConvAmx, IsAsAccurateAsFloats) {
  for (ConvShape s : {square(2, 64, 28, 64, 3, 1, 1), square(1, 2048, 7, 512, 1, 1, 0)})
    for (const ConvCandidate& candidate : named("amx")) {
      s.x_layout = s.y_layout = Layout::kBlocked16;
      Context context(2);
      std::string why;
      const auto conv = make_conv(candidate, {s}, context, why);
      if (!conv) GTEST_SKIP() << why;
      const Values x = random_values(s.x().shape.count(), 1), w = random_values(s.weight().count(), 2);
      const Operand x_in(context, s.x(), x), y(context, s.y());
      const StoredWeight w_in(context, conv->weight_format(), w);
      const Fenced scratch(context, conv->forward_scratch());
      conv->forward(context, {.x = x_in.data(), .w = w_in.data(), .y = y.data()}, scratch.data());
      scratch.expect_intact();
      const std::vector<double> exact = reference({s}, x, w, {}, Values(size_t(s.y().shape.count()))).y;
      EXPECT_LE(relative_distance(y.values(), {exact.begin(), exact.end()}), 1e-6) << s.c;
    }
}

// oneDNN's strided 1x1 kernels overrun a workspace in channels-last with few channels.
TEST(ConvOneDnn, StridedPointwiseWithFewChannelsStaysInBounds) {
  std::vector<ConvShape> list;
  for (int64_t c = 1; c <= 15; ++c) list.push_back(square(2, c, 9, 16, 1, 2, 0));
  for (const ConvCandidate& candidate : named("onednn")) check_shapes(candidate, list);
}

TEST(Conv, ReluAndNoBias) {
  for (const std::string& name : {std::string("direct"), std::string("winograd4x3"), std::string("gemm")})
    for (bool bias : {false, true})
      for (bool relu : {false, true})
        for (Layout layout : {Layout::kPlain, Layout::kBlocked16}) {
          ConvShape s = square(2, 20, 6, 20, 3, 1, 1);
          s.x_layout = s.y_layout = layout;
          EXPECT_TRUE(check(named(name)[0], {s, bias, relu_if(relu), true, true}) || layout == Layout::kPlain);
        }
}

class ConvActivation : public ::testing::TestWithParam<Activation::Kind> {};

TEST_P(ConvActivation, OfEveryCandidateAgreesWithTheFormula) {
  const Activation activation = activation_of(GetParam(), /*ceiling=*/0.25f);
  for (const Layout layout : {Layout::kPlain, Layout::kBlocked16, Layout::kChannelsLast}) {
    const int64_t k = activation.keeps_zero() ? 20 : 32;
    ConvRequest request{.shape = square(2, 20, 6, k, 3, 1, 1), .bias = true};
    ConvRequest depthwise{.shape = square(2, k, 6, k, 3, 1, 1, k), .bias = true};
    request.shape.x_layout = request.shape.y_layout = depthwise.shape.x_layout = depthwise.shape.y_layout = layout;
    request.post.activation = depthwise.post.activation = activation;
    int accepted = 0;
    for (const ConvCandidate& candidate : conv_candidates()) accepted += check(candidate, request);
    EXPECT_GE(accepted, layout == Layout::kBlocked16 ? 4 : 1);
    EXPECT_EQ(check(depthwise_conv_candidate(), depthwise), layout == Layout::kBlocked16);
    if (layout == Layout::kBlocked16) continue;
    for (const DeviceKind kind : devices())
      for (const ConvCandidate& candidate : device_candidates()) check(candidate, request, kind);
  }
  ConvRequest of_images{.shape = square(2, 3, 9, activation.keeps_zero() ? 20 : 32, 3, 2, 1), .bias = true};
  of_images.shape.y_layout = Layout::kBlocked16;
  of_images.post.activation = activation;
  EXPECT_TRUE(check(first_conv_candidate(), of_images));
}
INSTANTIATE_TEST_SUITE_P(, ConvActivation, ::testing::ValuesIn(kAllActivations), [](const auto& kind) {
  const std::string name = name_of(Activation{kind.param});
  return name.empty() ? std::string("none") : name;
});

TEST(Conv, WorksInGivenWeightFormats) {
  Context context(2);
  ConvShape blocked = square(2, 32, 8, 48, 3, 1, 1);
  blocked.x_layout = blocked.y_layout = Layout::kBlocked16;
  std::string why;
  const ConvRequest of_owner{blocked, true, {}, false, false};
  const auto owner = make_conv(named("onednn-last")[0], of_owner, context, why);
  ASSERT_TRUE(owner) << why;
  ASSERT_FALSE(owner->weight_format().is_plain() || owner->weight_format().is_blocked16());
  for (const WeightFormat& format :
       {owner->weight_format(), WeightFormat(blocked.weight()), WeightFormat::blocked16(blocked.weight(), 1)})
    for (const ConvCandidate& candidate : {direct_conv_candidate(), named("gemm")[0], named("winograd4x3")[0]}) {
      ConvRequest request(of_owner);
      request.backward_data = request.backward_weights = true;
      request.w_format = format;
      const auto conv = make_conv(candidate, request, context, why);
      if (candidate.name != "gemm" && !format.is_blocked16()) {
        EXPECT_EQ(why, "unsupported weight format");
        continue;
      }
      ASSERT_TRUE(conv) << why;
      EXPECT_TRUE(conv->weight_format() == format);
      EXPECT_TRUE(check(candidate, request));
    }
}

TEST(Conv, DepthwiseWorksInBlocksOfLibraries) {
  Context context(2);
  ConvShape s = square(2, 20, 8, 20, 3, 1, 1, 20);
  s.x_layout = s.y_layout = kBlocked;
  const WeightFormat blocked = WeightFormat::blocked16(s.weight(), 20);
  EXPECT_EQ(blocked.bytes(), 32 * 9 * 4);
  EXPECT_FALSE(blocked == WeightFormat::blocked16(s.weight(), 1));
  int accepted = 0;
  for (const ConvCandidate& candidate : conv_candidates())
    accepted += check(candidate, {s, true, relu_if(true), true, true, blocked});
  EXPECT_GE(accepted, 3);  // oneDNN, matrix products, our own
  std::string why;
  ConvRequest plain;
  plain.shape = s;
  plain.bias = plain.backward_data = plain.backward_weights = true;
  plain.w_format = WeightFormat(s.weight());
  EXPECT_FALSE(make_conv(depthwise_conv_candidate(), plain, context, why));
  EXPECT_EQ(why, "unsupported weight format");
}

TEST(Conv, EveryBatchSizeHasTheSameWeightFormat) {
  Context context(2);
  ConvShape s = square(8, 32, 14, 64, 3, 1, 1), t = square(1, 32, 14, 64, 3, 1, 1);
  s.x_layout = s.y_layout = t.x_layout = t.y_layout = Layout::kBlocked16;
  const auto train = plan_conv({s, true, {}, true, true}, context), test = plan_conv({t, true}, context);
  EXPECT_TRUE(train->weight_format() == test->weight_format());
}

TEST(Conv, NoImagesGiveZeroGradients) {
  EXPECT_FALSE(check(named("onednn")[0], {square(0, 4, 6, 4, 3, 1, 1), true, {}, true, true}));
  EXPECT_TRUE(check(named("gemm").front(), {square(0, 4, 6, 4, 3, 1, 1), true, {}, true, true}));
}

TEST(Conv, OneDnnDeclinesCounterOverflow) {
  const ConvCandidate onednn = named("onednn")[0];
  Context context(1);
  std::string why;
  EXPECT_FALSE(make_conv(onednn, {square(1, 1, 40000, 1, 3, 1, 1)}, context, why));
  EXPECT_FALSE(make_conv(onednn, {square(1, 1, 8, 1, 3, 1, 1 << 30)}, context, why));
  EXPECT_EQ(why, "too large");
}

TEST(Conv, ReportsWhyCandidatesDecline) {
  Context context(2);
  std::string refused;
  const auto conv = plan_conv({square(0, 4, 6, 4, 3, 1, 1), false}, context, &refused);
  EXPECT_NE(conv->name().find("gemm"), std::string::npos);
  EXPECT_NE(refused.find("onednn: no elements; "), std::string::npos) << refused;
}

}  // namespace
}  // namespace cortado::kernels

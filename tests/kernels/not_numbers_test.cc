// NaN in any operand reaches the result, whatever post-ops a kernel fuses, so that divergence and damaged weights stay
// visible. A candidate with a fused activation is compared with itself without one.

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "kernels/conv.h"
#include "kernels/cpu/largest_magnitude.h"
#include "kernels/inner_product.h"
#include "kernels/pool.h"
#include "kernels/quantized_conv.h"
#include "kernels/reorder.h"
#include "tests/kernels/activation_reference.h"
#include "tests/kernels/device_candidates.h"
#include "tests/kernels/operand.h"

namespace cortado::kernels {
namespace {

using namespace testing;

enum class Harm { kNone, kX, kW, kBias, kZ, kOverflow };
constexpr Harm kHarms[] = {Harm::kX, Harm::kW, Harm::kBias, Harm::kZ, Harm::kOverflow};

/// Random values with a NaN if `harm` is `here`; for overflowing sums, values of either sign that are large enough.
Values harmed(int64_t n, uint64_t key, Harm here, Harm harm) {
  Values values = random_values(n, key);
  if (harm == here) values[size_t(n / 2)] = NAN;
  if (harm == Harm::kOverflow && (here == Harm::kX || here == Harm::kW))
    for (float& v : values) v *= 1e25f;
  return values;
}

size_t count_nan(const Values& values) {
  return size_t(std::count_if(values.begin(), values.end(), [](float v) { return std::isnan(v); }));
}

/// NaN where `bare` has it; elsewhere the activation of `bare`. `spreads`: others may be NaN, too.
void expect_activated(const Values& fused, const Values& bare, const Activation& activation, bool spreads = false) {
  ASSERT_EQ(fused.size(), bare.size());
  for (size_t i = 0; i < bare.size(); ++i) {
    if (spreads && std::isnan(fused[i])) continue;
    ASSERT_EQ(std::isnan(fused[i]), std::isnan(activation(bare[i])))
        << name_of(activation) << "[" << i << "] of " << bare[i];
  }
}

/// Candidates known not to produce additional NaN. A library uses other engines for fusions; one that transforms tiles
/// makes whole tiles NaN.
const ConvCandidate& exact_on_devices() {
  static const std::vector<ConvCandidate> all = device_conv_candidates();
  return *std::find_if(all.begin(), all.end(), [](const ConvCandidate& c) { return c.name == "plain"; });
}

Activation activation_of(Activation::Kind kind) { return testing::activation_of(kind, 6); }

Values forward(const ConvCandidate& candidate, const ConvRequest& request, Harm harm, DeviceKind kind) {
  const ConvShape& s = request.shape;
  Context context = context_on(kind);
  std::string why;
  const auto conv = make_conv(candidate, request, context, why);
  if (!conv) return {};
  const Values added = harmed(s.y().shape.count(), 4, Harm::kZ, harm);
  const bool apart = conv->sum_place() == SumPlace::kApart;
  const Operand x(context, s.x(), harmed(s.x().shape.count(), 1, Harm::kX, harm)), z(context, s.y(), added),
      y = apart ? Operand(context, s.y()) : Operand(context, s.y(), added),
      bias = floats_of(context, harmed(s.k, 3, Harm::kBias, harm));
  const StoredWeight w(context, conv->weight_format(), harmed(s.weight().count(), 2, Harm::kW, harm));
  const Fenced scratch(context, conv->forward_scratch());
  conv->forward(context,
                {.x = x.data(), .w = w.data(), .bias = bias.data(), .z = apart ? z.data() : y.data(), .y = y.data()},
                scratch.data());
  return y.values_of_any();
}

/// Returns how many of the candidate's fusions propagate every NaN.
int check(const ConvCandidate& candidate, ConvShape s, DeviceKind kind = DeviceKind::kCpu) {
  int accepted = 0;
  const bool on_cpu = kind == DeviceKind::kCpu;
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16})
    for (const Activation::Kind activation : kAllActivations)
      for (const bool sum : {false, true})
        for (const Harm harm : kHarms) {
          if (harm == Harm::kZ && !sum) continue;
          // A device's library adds up in another order, in which an overflowing sum may be infinite instead.
          if (harm == Harm::kOverflow && !on_cpu && candidate.name != "plain") continue;
          s.x_layout = s.y_layout = layout;
          ConvRequest request{.shape = s, .bias = true, .post = {.sum = sum}};
          const Values bare = forward(on_cpu ? candidate : exact_on_devices(), request, harm, kind);
          request.post.activation = activation_of(activation);
          const Values fused = forward(candidate, request, harm, kind);
          if (bare.empty() || fused.empty()) continue;
          SCOPED_TRACE(candidate.name + " " + describe(request, ConvDirection::kForward) + " harm " +
                       std::to_string(int(harm)));
          if (harm != Harm::kOverflow) {
            EXPECT_GT(count_nan(bare), 0u);
          }
          expect_activated(fused, bare, request.post.activation, !on_cpu);
          ++accepted;
        }
  return accepted;
}

std::vector<ConvShape> shapes() {
  const auto square = [](int64_t c, int64_t k, int64_t kernel, int64_t groups) {
    const ConvAxis axis{9, kernel, 1, kernel / 2};
    return ConvShape{.n = 2, .c = c, .k = k, .groups = groups, .h = axis, .w = axis};
  };
  return {square(32, 48, 1, 1), square(32, 32, 3, 1), square(32, 32, 3, 32), square(6, 4, 3, 2), square(3, 16, 3, 1)};
}

TEST(NotNumbers, PassThroughEveryConvolution) {
  int accepted = 0;
  for (const ConvShape& s : shapes())
    for (const ConvCandidate& candidate : conv_candidates()) accepted += check(candidate, s);
  EXPECT_GT(accepted, 1000);
}

TEST(NotNumbers, PassThroughEveryConvolutionOfBfloat16) {
  int accepted = 0;
  for (ConvShape s : shapes())
    for (const ConvCandidate& candidate : half_conv_candidates()) {
      s.dtype = DType::kBF16;
      accepted += check(candidate, s);
    }
  EXPECT_GT(accepted, 500);
}

TEST(NotNumbers, PassThroughEveryConvolutionOnDevices) {
  for (const DeviceKind kind : devices()) {
    int accepted = 0;
    for (const ConvShape& s : {shapes()[0], shapes()[2]})
      for (const ConvCandidate& candidate : device_candidates()) accepted += check(candidate, s, kind);
    EXPECT_GT(accepted, 50);
  }
}

using MakeProduct = std::unique_ptr<InnerProduct> (*)(const InnerProductRequest&, Context&, std::string&);

Values forward(MakeProduct make, const InnerProductRequest& r, Harm harm, DeviceKind kind) {
  Context context = context_on(kind);
  std::string why;
  const auto product = make(r, context, why);
  if (!product) return {};
  const Operand x(context, {{r.rows, r.inputs}}, harmed(r.rows * r.inputs, 1, Harm::kX, harm)),
      y(context, {{r.rows, r.outputs}}), bias = floats_of(context, harmed(r.outputs, 3, Harm::kBias, harm));
  const StoredWeight w(context, product->weight_format(), harmed(r.weight().count(), 2, Harm::kW, harm));
  const Fenced scratch(context, product->forward_scratch());
  product->forward(context, x.data(), w.data(), bias.data(), y.data(), scratch.data());
  return y.values_of_any();
}

TEST(NotNumbers, PassThroughEveryInnerProduct) {
  using Case = std::pair<MakeProduct, DeviceKind>;
  std::vector<Case> cases = {{make_inner_product_onednn, DeviceKind::kCpu},
                             {make_inner_product_gemm, DeviceKind::kCpu}};
  for (const DeviceKind kind : devices()) {
    cases.push_back({make_inner_product_generic, kind});
    cases.push_back({make_inner_product_cublaslt, kind});
  }
  int accepted = 0;
  for (const auto& [make, kind] : cases)
    for (const Activation::Kind activation : kAllActivations)
      for (const Harm harm : {Harm::kX, Harm::kW, Harm::kBias, Harm::kOverflow}) {
        InnerProductRequest r{.rows = 5, .inputs = 40, .outputs = 24, .bias = true};
        const Values bare = forward(make, r, harm, kind);
        r.post.activation = activation_of(activation);
        const Values fused = forward(make, r, harm, kind);
        if (bare.empty() || fused.empty()) continue;
        expect_activated(fused, bare, r.post.activation);
        ++accepted;
      }
  EXPECT_GE(accepted, 3 * 4 * 6);
}

TEST(NotNumbers, AreTheMaximumOfTheirWindow) {
  using Make = std::unique_ptr<Pool> (*)(const PoolRequest&, Context&, std::string&);
  using Case = std::pair<Make, DeviceKind>;
  std::vector<Case> cases = {{make_pool_native, DeviceKind::kCpu}, {make_pool_onednn, DeviceKind::kCpu}};
  for (const DeviceKind kind : devices()) cases.push_back({make_pool_generic, kind});
  int accepted = 0;
  for (const auto& [make, kind] : cases)
    for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16})
      for (const bool backward : {false, true}) {
        PoolRequest r{.x = {{1, 20, 6, 6}, DType::kF32, layout}, .y = {{1, 20, 3, 3}, DType::kF32, layout}};
        r.kernel_h = r.kernel_w = r.stride_h = r.stride_w = 2, r.backward = backward;
        Context context = context_on(kind);
        std::string why;
        const auto pool = make(r, context, why);
        if (!pool) continue;
        Values values = random_values(r.x.shape.count(), 1);
        std::fill_n(values.begin(), 2, NAN);  // half of the first window, and all of another
        for (const size_t i : {36 + 2, 36 + 3, 36 + 8, 36 + 9}) values[i] = NAN;
        const Operand x(context, r.x, values), y(context, r.y);
        const Fenced saved(context, pool->saved_bytes()), scratch(context, pool->forward_scratch());
        pool->forward(context, x.data(), y.data(), nullptr, saved.data(), scratch.data());
        const Values maxima = y.values_of_any();
        for (size_t i = 0; i < maxima.size(); ++i)
          EXPECT_EQ(std::isnan(maxima[i]), i == 0 || i == 9 + 1) << pool->name() << name_of(layout) << i;
        ++accepted;
      }
  EXPECT_GE(accepted, 8);
}

/// Overlapping, uneven windows over the padding: one NaN at each place of the image, in another place in each channel.
PoolRequest uneven_windows(DType dtype, Layout layout, bool backward) {
  PoolRequest r{.x = {{1, 20, 6, 7}, dtype, layout}, .y = {{1, 20, 4, 3}, dtype, layout}};
  r.kernel_h = 3, r.kernel_w = 2, r.stride_h = 2, r.stride_w = 3, r.pad_h = 1, r.pad_w = 1, r.backward = backward;
  return r;
}

/// Whether the window of output `out` contains the place `at` of the image.
bool sees(const PoolRequest& r, int64_t out, int64_t at) {
  const int64_t h = at / r.x.shape[3] - (out / r.y.shape[3] * r.stride_h - r.pad_h),
                w = at % r.x.shape[3] - (out % r.y.shape[3] * r.stride_w - r.pad_w);
  return h >= 0 && h < r.kernel_h && w >= 0 && w < r.kernel_w;
}

/// NaN is the maximum wherever it is in its window, and its place gets the gradient; with oneDNN, another may get it.
void expect_nan_of_every_place(Pool& pool, const PoolRequest& r, Context& context) {
  const int64_t places = r.x.shape.count(2), outs = r.y.shape.count(2), channels = r.x.shape[1];
  for (int64_t first = 0; first < places; first += 5) {  // each place in several channels
    Values values = rounded(random_values(r.x.shape.count(), 1), r.x.dtype);
    const auto place = [&](int64_t c) { return (first + c) % places; };
    for (int64_t c = 0; c < channels; ++c) values[size_t(c * places + place(c))] = NAN;
    const Operand x(context, r.x, values), y(context, r.y), dx(context, r.x),
        dy(context, r.y, Values(size_t(r.y.shape.count()), 1.0f));
    const Fenced saved(context, pool.saved_bytes()),
        scratch(context, std::max(pool.forward_scratch(), pool.backward_scratch()));
    pool.forward(context, x.data(), y.data(), nullptr, saved.data(), scratch.data());
    const Values maxima = y.values_of_any();
    std::vector<int> seen(size_t(channels), 0);
    for (int64_t i = 0; i < int64_t(maxima.size()); ++i) {
      const bool has_nan = sees(r, i % outs, place(i / outs));
      seen[size_t(i / outs)] += has_nan;
      ASSERT_EQ(std::isnan(maxima[size_t(i)]), has_nan) << "y[" << i << "] of NaN at " << place(i / outs);
    }
    if (!r.backward || pool.name().starts_with("onednn")) continue;
    pool.backward(context, dy.data(), dx.data(), saved.data(), scratch.data());
    const Values gradient = dx.values();
    for (int64_t c = 0; c < channels; ++c)
      ASSERT_EQ(gradient[size_t(c * places + place(c))], float(seen[size_t(c)])) << "dx of NaN at " << place(c);
  }
}

TEST(NotNumbers, AreTheMaximumAtEveryPlaceOfTheirWindow) {
  using Make = std::unique_ptr<Pool> (*)(const PoolRequest&, Context&, std::string&);
  using Case = std::tuple<Make, DeviceKind, std::vector<DType>>;
  std::vector<Case> cases = {{make_pool_native, DeviceKind::kCpu, {DType::kF32, DType::kBF16}},
                             {make_pool_onednn, DeviceKind::kCpu, {DType::kF32}}};
  for (const DeviceKind kind : devices())
    cases.push_back({make_pool_generic, kind, {DType::kF32, DType::kBF16, DType::kF16}});
  int accepted = 0;
  for (const auto& [make, kind, types] : cases)
    for (const DType dtype : types)
      for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16})
        for (const bool backward : {false, true}) {
          const PoolRequest r = uneven_windows(dtype, layout, backward);
          Context context = context_on(kind);
          std::string why;
          const auto pool = make(r, context, why);
          if (!pool) continue;
          SCOPED_TRACE(pool->name() + " " + name_of(dtype) + " " + name_of(layout) +
                       (backward ? " with backward" : ""));
          expect_nan_of_every_place(*pool, r, context);
          ++accepted;
        }
  EXPECT_GE(accepted, 20);
}

TEST(NotNumbers, AreRejectedByIntegers) {
  Context context(2);
  const TensorSpec from{{1, 16, 3, 3}}, to{{1, 16, 3, 3}, DType::kU8, Layout::kChannelsLast, 20};
  const auto reorder = plan_reorder({from, to}, context);
  const Fenced scratch(context, reorder->scratch()), y(context, to.bytes());
  const auto run = [&](Harm harm) {
    const Operand x(context, from, harmed(from.shape.count(), 1, Harm::kX, harm));
    reorder->run(context, x.data(), y.data(), scratch.data());
  };
  run(Harm::kNone);
  try {
    run(Harm::kX);
    FAIL() << "accepted NaN";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kDiverged);
  }
}

TEST(NotNumbers, AreTheLargestMagnitude) {
  Context context(3);
  for (const int64_t n : {0, 1, 7, 100000}) {
    Values values = random_values(n, 1);
    const auto largest = [&] { return largest_magnitude(context, values.data(), DType::kF32, n); };
    float expected = 0;
    for (const float v : values) expected = std::max(expected, std::abs(v));
    EXPECT_EQ(largest(), expected);
    if (n == 0) continue;
    values[size_t(n - 1)] = -INFINITY;
    EXPECT_EQ(largest(), INFINITY);
    values[0] = -NAN;
    EXPECT_TRUE(std::isnan(largest()));
  }
  const std::vector<BFloat16> halves = {1.0f, -3.0f, 2.0f};
  EXPECT_EQ(largest_magnitude(context, halves.data(), DType::kBF16, 3), 3.0f);
}

}  // namespace
}  // namespace cortado::kernels

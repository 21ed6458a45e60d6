// Every candidate compared with the definition in double.

#include "kernels/softmax.h"

#include "kernels/cpu_level.h"
#include "tests/kernels/operand.h"

namespace cortado::kernels {
namespace {

using namespace testing;

using Make = std::unique_ptr<Softmax> (*)(const SoftmaxRequest&, Context&, std::string&);

struct Reference {
  std::vector<double> y, dx;
};

Reference reference(const SoftmaxRequest& r, const Values& x, const Values& dy) {
  Reference e{std::vector<double>(x.size()), std::vector<double>(x.size())};
  for (int64_t row = 0; row < r.outer * r.inner; ++row) {
    const auto at = [&](int64_t c) { return size_t((row / r.inner * r.classes + c) * r.inner + row % r.inner); };
    double sum = 0, dot = 0;
    for (int64_t c = 0; c < r.classes; ++c) sum += std::exp(double(x[at(c)]));
    for (int64_t c = 0; c < r.classes; ++c) e.y[at(c)] = std::exp(double(x[at(c)])) / sum;
    for (int64_t c = 0; c < r.classes; ++c) dot += e.y[at(c)] * dy[at(c)];
    for (int64_t c = 0; c < r.classes; ++c) e.dx[at(c)] = e.y[at(c)] * (dy[at(c)] - dot);
  }
  return e;
}

bool check(Make make, const SoftmaxRequest& r, int threads, DeviceKind kind = DeviceKind::kCpu) {
  SCOPED_TRACE(std::to_string(r.outer) + " x " + std::to_string(r.classes) + " x " + std::to_string(r.inner) + " " +
               name_of(r.dtype));
  Context context = context_on(kind, threads);
  std::string why;
  const auto softmax = make(r, context, why);
  if (!softmax) {
    EXPECT_FALSE(why.empty());
    return false;
  }
  const TensorSpec spec{{r.outer, r.classes, r.inner}, r.dtype};
  Values x = random_values(spec.shape.count(), 1);
  const Values dy = rounded(random_values(spec.shape.count(), 2), r.dtype);
  for (float& v : x) v *= 20;
  x = rounded(x, r.dtype);
  const Reference e = reference(r, x, dy);
  const Operand in_place(context, spec, x), dx(context, spec, dy);  // both directions in place
  const Fenced scratch(context, std::max(softmax->forward_scratch(), softmax->backward_scratch()));
  softmax->forward(context, in_place.data(), in_place.data(), scratch.data());
  softmax->backward(context, in_place.data(), dx.data(), dx.data(), scratch.data());
  expect_near(in_place.values(), e.y, 2e-6 + rounding(r.dtype), "y");
  expect_near(dx.values(), e.dx, 2e-6 + 3 * rounding(r.dtype), "dx");  // computed from the rounded y
  scratch.expect_intact();
  return true;
}

const std::vector<SoftmaxRequest> kRequests = {{5, 10, 1, true},   {3, 1000, 1, true}, {1, 1, 1, true},
                                               {64, 17, 1, true},  {2, 21, 35, true},  {1, 5, 16, true},
                                               {3, 2, 1000, true}, {601, 130, 1, true}};

TEST(Softmax, OurOwnFollowsTheDefinition) {
  for (const SoftmaxRequest& r : kRequests)
    for (const int threads : {1, 3}) EXPECT_TRUE(check(make_softmax_native, r, threads));
}

TEST(Softmax, FollowsTheDefinitionInEveryTypeOnDevices) {
  for (const DeviceKind kind : devices())
    for (SoftmaxRequest r : kRequests)
      for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
        r.dtype = dtype;
        EXPECT_TRUE(check(make_softmax_generic, r, 2, kind));
        EXPECT_EQ(check(make_softmax_cudnn, r, 2, kind), kind == DeviceKind::kCuda);
      }
}

TEST(Softmax, OneDnnFollowsTheDefinition) {
  const bool fast = onednn_level() == CpuLevel::kAvx512;  // with AVX2 there is only the reference
  for (const SoftmaxRequest& r : kRequests) EXPECT_EQ(check(make_softmax_onednn, r, 2), fast && r.inner == 1);
}

TEST(Softmax, PropagatesNanAndHandlesInfinity) {
  Context context(1);
  std::string why;
  using Case = std::pair<Make, int64_t>;
  for (const auto& [make, inner] :
       {Case{make_softmax_native, 1}, Case{make_softmax_native, 2}, Case{make_softmax_generic, 2}}) {
    const auto softmax = make({1, 3, inner}, context, why);
    Values y(size_t(3 * inner));
    const Values with_nan(y.size(), NAN);
    softmax->forward(context, with_nan.data(), y.data(), nullptr);
    EXPECT_TRUE(std::isnan(y[0]));
    Values low(y.size(), -INFINITY);
    for (int64_t i = 0; i < inner; ++i) low[size_t(i)] = 0;
    softmax->forward(context, low.data(), y.data(), nullptr);
    EXPECT_EQ(y[0], 1);
    EXPECT_EQ(y[y.size() - 1], 0);
  }
}

}  // namespace
}  // namespace cortado::kernels

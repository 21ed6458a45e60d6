// Every candidate compared with the definition in double, and the number of launches on a device.

#include "kernels/matmul.h"

#include "core/device/recording.h"
#include "tests/kernels/operand.h"

namespace cortado::kernels {
namespace {

using namespace testing;

using Make = std::unique_ptr<MatMul> (*)(const MatMulRequest&, Context&, std::string&);

std::string name_of(const MatMulRequest& r) {
  const GemmShape& s = r.shape;
  return std::to_string(r.count) + " of " + std::to_string(s.m) + "x" + std::to_string(s.k) + " by " +
         std::to_string(s.k) + "x" + std::to_string(s.n) + (s.transpose_a ? " ta" : "") + (s.transpose_b ? " tb" : "") +
         (r.step_a ? "" : " one a") + (r.step_b ? "" : " one b") + (r.adds_up ? " added up " : " ") + name_of(s.a) +
         " to " + name_of(s.c);
}

int64_t count_of(int64_t count, int64_t step, int64_t each) { return step == 0 ? each : (count - 1) * step + each; }

std::vector<double> reference(const MatMulRequest& r, const Values& a, const Values& b) {
  const GemmShape& s = r.shape;
  std::vector<double> c(size_t((r.adds_up ? 1 : r.count) * s.m * s.n));
  for (int64_t t = 0; t < r.count; ++t)
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < s.n; ++j)
        for (int64_t p = 0; p < s.k; ++p)
          c[size_t(((r.adds_up ? 0 : t) * s.m + i) * s.n + j)] +=
              double(r.alpha) * a[size_t(t * r.step_a + (s.transpose_a ? p * s.m + i : i * s.k + p))] *
              b[size_t(t * r.step_b + (s.transpose_b ? j * s.k + p : p * s.n + j))];
  return c;
}

/// Returns whether the candidate accepted; if so, compares its results. `launches`: the expected number on the
/// simulated device, if counted.
bool check(Make make, const MatMulRequest& r, DeviceKind kind, size_t* launches = nullptr) {
  SCOPED_TRACE(name_of(r));
  Context context = context_on(kind);
  std::string why;
  const auto product = make(r, context, why);
  if (!product) {
    EXPECT_FALSE(why.empty());
    return false;
  }
  const GemmShape& s = r.shape;
  const Values a = rounded(random_values(count_of(r.count, r.step_a, s.m * s.k), 1), s.a),
               b = rounded(random_values(count_of(r.count, r.step_b, s.k * s.n), 2), s.b);
  const std::vector<double> expected = reference(r, a, b);
  const Operand a_in(context, {{int64_t(a.size())}, s.a}, a), b_in(context, {{int64_t(b.size())}, s.b}, b),
      c_out(context, {{int64_t(expected.size())}, s.c});  // NaN at first: must not be read
  const Fenced scratch(context, product->scratch());
  if (launches) {
    Recording recording;
    context.recording = &recording;
    product->run(context, a_in.data(), b_in.data(), c_out.data(), scratch.data());
    context.recording = nullptr;
    *launches = recording.size();
    recording.replay(context);
  } else {
    product->run(context, a_in.data(), b_in.data(), c_out.data(), scratch.data());
  }
  const double sums = kind == DeviceKind::kCpu ? 1e-4 : 1e-5;
  expect_near(c_out.values(), expected, sums + rounding(s.c), "c");
  scratch.expect_intact();
  return true;
}

/// Sizes, transposes and shared operands; `type`: of a and b.
std::vector<MatMulRequest> requests(DType type, DType sums) {
  struct Size {
    int64_t count, m, n, k;
  };
  std::vector<MatMulRequest> list;
  for (const auto& [count, m, n, k] : {Size{1, 1, 1, 1},
                                       {1, 33, 17, 130},
                                       {6, 5, 7, 9},
                                       {3, 64, 16, 32},
                                       {4, 3, 1, 70},
                                       {5, 8, 8, 8},
                                       {2, 130, 2, 65}})
    for (int options = 0; options < 32; ++options) {
      const bool one_a = (options & 4) != 0, one_b = (options & 8) != 0;
      list.push_back({.shape = {m, n, k, (options & 1) != 0, (options & 2) != 0, type, type, sums},
                      .count = count,
                      .step_a = one_a ? 0 : m * k,
                      .step_b = one_b ? 0 : k * n,
                      .adds_up = (options & 16) != 0,
                      .alpha = one_a ? 0.5f : 1.0f});
    }
  return list;
}

TEST(MatMulKernels, OneDnnAgreesWithTheDefinition) {
  for (const MatMulRequest& request : requests(DType::kF32, DType::kF32))
    EXPECT_TRUE(check(make_matmul_onednn, request, DeviceKind::kCpu));
}

std::unique_ptr<MatMul> make_openblas(const MatMulRequest& request, Context& context, std::string& why) {
  return make_matmul_openblas(request, without_generated_code(context), why);
}

TEST(MatMulKernels, OpenBlasAgreesWithTheDefinition) {
  if (openblas_version().empty()) GTEST_SKIP() << "OpenBLAS is not installed";
  for (const MatMulRequest& request : requests(DType::kF32, DType::kF32))
    EXPECT_TRUE(check(make_openblas, request, DeviceKind::kCpu));
}

TEST(MatMulKernels, OfBfloat16UsePlainOnTheCpu) {
  Context context(2);
  for (const MatMulRequest& request : requests(DType::kBF16, DType::kBF16)) {
    EXPECT_EQ(plan_matmul(request, context)->name(), "plain");
    EXPECT_TRUE(check(make_matmul_generic, request, DeviceKind::kCpu));
  }
}

TEST(MatMulKernels, AgreeWithTheDefinitionInEveryTypeOnDevices) {
  for (const DeviceKind kind : devices())
    for (const auto& [type, sums] : {std::pair{DType::kF32, DType::kF32},
                                     {DType::kF16, DType::kF16},
                                     {DType::kBF16, DType::kBF16},
                                     {DType::kF16, DType::kF32}})
      for (const MatMulRequest& request : requests(type, sums)) {
        EXPECT_TRUE(check(make_matmul_generic, request, kind));
        EXPECT_EQ(check(make_matmul_cublaslt, request, kind), kind == DeviceKind::kCuda);
      }
}

TEST(MatMulKernels, PlainIsOneLaunchForAllMatrices) {
  for (const MatMulRequest& request : requests(DType::kF16, DType::kF16)) {
    size_t launches = 0;
    EXPECT_TRUE(check(make_matmul_generic, request, DeviceKind::kSimulated, &launches));
    EXPECT_EQ(launches, 1u);
  }
}

TEST(MatMulKernels, AnEmptySumIsZero) {
  for (const bool adds_up : {false, true}) {
    const MatMulRequest request{.shape = {3, 5, 0}, .count = 2, .adds_up = adds_up};
    EXPECT_TRUE(check(make_matmul_generic, request, DeviceKind::kSimulated));
    EXPECT_TRUE(check(make_matmul_onednn, request, DeviceKind::kCpu));
  }
}

}  // namespace
}  // namespace cortado::kernels

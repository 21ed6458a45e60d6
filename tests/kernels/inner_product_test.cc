// Every candidate compared with the definition in double.

#include "kernels/inner_product.h"

#include "kernels/gemm.h"
#include "tests/kernels/activation_reference.h"
#include "tests/kernels/operand.h"

namespace cortado::kernels {
namespace {

using namespace testing;

using Make = std::unique_ptr<InnerProduct> (*)(const InnerProductRequest&, Context&, std::string&);

std::string name_of(const InnerProductRequest& r) {
  return std::to_string(r.rows) + " x " + std::to_string(r.inputs) + " -> " + std::to_string(r.outputs) +
         (r.transpose ? " transposed" : "") + (r.bias ? " bias" : "") + " " + to_text(r.post) +
         (r.turns ? " turned" : "") + " " + name_of(r.dtype);
}

/// Returns whether the candidate accepted; if so, compares all its results.
bool check(Make make, const InnerProductRequest& r, DeviceKind kind = DeviceKind::kCpu) {
  SCOPED_TRACE(name_of(r));
  Context context = context_on(kind);
  std::string why;
  const auto product = make(r, context, why);
  if (!product) {
    EXPECT_FALSE(why.empty());
    return false;
  }
  const Values x = rounded(random_values(r.rows * r.inputs, 1), r.dtype),
               w = rounded(random_values(r.weight().count(), 2), r.dtype),
               bias = rounded(random_values(r.bias ? r.outputs : 0, 3), r.dtype),
               dy = rounded(random_values(r.rows * r.outputs, 4), r.dtype);
  std::vector<double> y(dy.size()), dx(x.size()), dw(w.size()), dbias(bias.size());
  for (int64_t i = 0; i < r.rows; ++i)
    for (int64_t o = 0; o < r.outputs; ++o) {
      const size_t at = size_t(i * r.outputs + o);
      for (int64_t k = 0; k < r.inputs; ++k) {
        const size_t in = size_t(i * r.inputs + k), weight = size_t(r.transpose ? k * r.outputs + o : o * r.inputs + k);
        y[at] += double(x[in]) * w[weight];
        dx[in] += double(dy[at]) * w[weight];
        dw[weight] += double(dy[at]) * x[in];
      }
      if (r.bias) y[at] += bias[size_t(o)], dbias[size_t(o)] += dy[at];
      y[at] = activation_reference(r.post.activation, y[at]);
    }

  const WeightFormat format = product->weight_format();
  const double sums = kind == DeviceKind::kCpu ? 1e-4 : 1e-5, values = sums + rounding(r.dtype);
  const TensorSpec x_spec{{r.rows, r.inputs}, r.dtype}, y_spec{{r.rows, r.outputs}, r.dtype};
  const Operand x_in(context, x_spec, x), dy_in(context, y_spec, dy), y_out(context, y_spec), dx_out(context, x_spec),
      bias_in = floats_of(context, bias);
  const StoredWeight w_in(context, format, w);
  StoredWeight dw_out(context, format), dw_alone(context, format);
  const Fenced scratch(context, std::max(product->forward_scratch(), product->backward_scratch()));

  product->forward(context, x_in.data(), w_in.data(), r.bias ? bias_in.data() : nullptr, y_out.data(), scratch.data());
  expect_near(y_out.values(), y, values, "y");
  if (r.backward_data) {
    const Fenced turned(context, product->turned_bytes());
    const float* w_back = product->turn(context, w_in.data(), turned.data(), scratch.data());
    product->backward_data(context, dy_in.data(), w_back, dx_out.data(), scratch.data());
    turned.expect_intact();
    expect_near(dx_out.values(), dx, values, "dx");
  }
  if (r.backward_weights) {
    const Operand dbias_out(context, {{int64_t(bias.size())}});
    WeightGradients d{dw_out.data(), r.bias ? dbias_out.data() : nullptr};
    product->backward_weights(context, x_in.data(), dy_in.data(), d, scratch.data());
    expect_near(dw_out.plain(context), dw, sums, "dw");
    expect_near(dbias_out.values(), dbias, sums, "dbias");
    d.add_w = d.add_bias = true;
    product->backward_weights(context, x_in.data(), dy_in.data(), d, scratch.data());
    product->backward_weights(context, x_in.data(), dy_in.data(), {dw_alone.data(), nullptr}, scratch.data());
    expect_near(dw_alone.plain(context), dw, sums, "dw alone");
    for (double& v : dw) v *= 2;
    for (double& v : dbias) v *= 2;
    expect_near(dw_out.plain(context), dw, sums, "dw accumulated");
    expect_near(dbias_out.values(), dbias, sums, "dbias accumulated");
  }
  EXPECT_EQ(w_in.plain(context), w) << "the weights were changed";
  scratch.expect_intact();
  return true;
}

std::vector<InnerProductRequest> requests() {
  std::vector<InnerProductRequest> list;
  const int64_t sizes[][3] = {{1, 1, 1},     {64, 80, 50}, {7, 33, 10}, {1, 100, 130},
                              {100, 64, 10}, {16, 16, 16}, {3, 5, 1}};
  for (const auto& [rows, inputs, outputs] : sizes)
    for (int options = 0; options < 8; ++options)
      list.push_back(
          {rows, inputs, outputs, (options & 1) != 0, (options & 2) != 0, relu_if((options & 4) != 0), true, true});
  return list;
}

TEST(InnerProduct, GemmAgreesWithTheDefinition) {
  for (const auto& request : requests()) EXPECT_TRUE(check(make_inner_product_gemm, request));
}

std::unique_ptr<InnerProduct> make_openblas(const InnerProductRequest& request, Context& context, std::string& why) {
  return make_inner_product_openblas(request, without_generated_code(context), why);
}

TEST(InnerProduct, OpenBlasAgreesWithTheDefinition) {
  if (openblas_version().empty()) GTEST_SKIP() << "OpenBLAS is not installed";
  for (const auto& request : requests()) EXPECT_TRUE(check(make_openblas, request));
}

TEST(InnerProduct, UsesOpenBlasWithoutOneDnnCode) {
  if (openblas_version().empty()) GTEST_SKIP() << "OpenBLAS is not installed";
  Context context(2), other(2);
  EXPECT_EQ(plan_inner_product({64, 80, 50}, without_generated_code(context))->name(), "openblas");
  other.handle<CpuLevels>() = {CpuLevel::kUnknown, CpuLevel::kUnknown, /*onednn_generates=*/true};
  EXPECT_EQ(plan_inner_product({64, 80, 50}, other)->name(), "gemm");
}

TEST(InnerProduct, OfBfloat16AgreesWithTheDefinition) {
  for (InnerProductRequest request : requests()) {
    request.dtype = DType::kBF16;
    for (const bool turns : {false, true}) {
      request.turns = turns;
      EXPECT_TRUE(check(make_inner_product_as_floats, request));
    }
  }
}

TEST(InnerProduct, AgreesWithTheDefinitionInEveryTypeOnDevices) {
  for (const DeviceKind kind : devices())
    for (InnerProductRequest request : requests())
      for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
        request.dtype = dtype;
        EXPECT_TRUE(check(make_inner_product_generic, request, kind));
        EXPECT_TRUE(check(make_inner_product_cublaslt, request, kind) || kind != DeviceKind::kCuda ||
                    dtype != DType::kF32);
      }
}

/// On other architectures it has only its reference, which is declined.
#ifdef __x86_64__
constexpr bool kOneDnnHasKernels = true;
#else
constexpr bool kOneDnnHasKernels = false;
#endif

TEST(InnerProduct, OneDnnAgreesWithTheDefinition) {
  for (const auto& request : requests()) EXPECT_EQ(check(make_inner_product_onednn, request), kOneDnnHasKernels);
}

/// Divided into pieces: of rows, of outputs with and without remainders, with a sum over outputs, with many rows.
std::vector<InnerProductRequest> divided_requests() {
  std::vector<InnerProductRequest> list;
  const int64_t sizes[][3] = {{1, 1500, 1000}, {50, 300, 500}, {128, 64, 192},
                              {400, 64, 40},   {9, 200, 1900}, {700, 64, 130}};
  for (const auto& [rows, inputs, outputs] : sizes)
    for (const bool bias : {false, true})
      list.push_back({rows, inputs, outputs, !bias, bias, relu_if(bias), true, true});
  return list;
}

TEST(InnerProduct, InPiecesAgreesWithTheDefinition) {
  for (InnerProductRequest request : divided_requests())
    for (const bool turns : {false, true}) {
      request.turns = turns;
      EXPECT_EQ(check(make_inner_product_onednn, request), kOneDnnHasKernels);
      EXPECT_TRUE(check(make_inner_product_gemm, request));
    }
}

/// y, dx, dw and dbias, one after the other.
Values results_of(Make make, const InnerProductRequest& r, int threads) {
  Context context = context_on(DeviceKind::kCpu, threads);
  std::string why;
  const auto product = make(r, context, why);
  if (!product) return {};
  const Operand x(context, {{r.rows, r.inputs}}, random_values(r.rows * r.inputs, 1)),
      dy(context, {{r.rows, r.outputs}}, random_values(r.rows * r.outputs, 4)), y(context, {{r.rows, r.outputs}}),
      dx(context, {{r.rows, r.inputs}}), dbias(context, {{r.outputs}}, Values(size_t(r.outputs))),
      bias = floats_of(context, random_values(r.outputs, 3));
  const StoredWeight w(context, product->weight_format(), random_values(r.weight().count(), 2));
  StoredWeight dw(context, product->weight_format());
  const Fenced scratch(context, std::max(product->forward_scratch(), product->backward_scratch()));
  product->forward(context, x.data(), w.data(), r.bias ? bias.data() : nullptr, y.data(), scratch.data());
  product->backward_data(context, dy.data(), w.data(), dx.data(), scratch.data());
  product->backward_weights(context, x.data(), dy.data(), {dw.data(), r.bias ? dbias.data() : nullptr}, scratch.data());
  Values all;
  for (const Values& part : {y.values(), dx.values(), dw.plain(context), dbias.values()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(InnerProduct, ResultsDoNotDependOnThreads) {
  for (const InnerProductRequest& request : divided_requests()) {
    SCOPED_TRACE(name_of(request));
    for (const Make make : {make_inner_product_onednn, make_inner_product_gemm}) {
      const Values alone = results_of(make, request, 1);
      for (const int threads : {2, 3, 4}) EXPECT_TRUE(results_of(make, request, threads) == alone) << threads;
    }
  }
}

TEST(InnerProduct, EveryActivationAgreesWithItsFormula) {
  for (const Activation::Kind kind : kAllActivations) {
    const InnerProductRequest request{
        .rows = 7, .inputs = 33, .outputs = 20, .bias = true, .post = {.activation = activation_of(kind, 0.25f)}};
    EXPECT_TRUE(check(make_inner_product_gemm, request));
    EXPECT_EQ(check(make_inner_product_onednn, request), kOneDnnHasKernels);
    for (const DeviceKind device : devices()) {
      EXPECT_TRUE(check(make_inner_product_generic, request, device));
      check(make_inner_product_cublaslt, request, device);
    }
  }
}

/// Blocked formats are padded, and a library may convert padded and large ones in another way than small ones.
TEST(InnerProduct, ReadsStoredWeightsBackUnchanged) {
  for (const bool transpose : {false, true})
    for (const int64_t inputs : {800, 9216})
      for (const int64_t outputs : {10, 36, 52, 84, 100, 130}) {
        InnerProductRequest request{.rows = 4, .inputs = inputs, .outputs = outputs, .transpose = transpose};
        request.backward_data = request.backward_weights = true;
        SCOPED_TRACE(name_of(request));
        Context context = context_on(DeviceKind::kCpu);
        std::string why;
        const auto product = make_inner_product_onednn(request, context, why);
        ASSERT_EQ(product != nullptr, kOneDnnHasKernels);
        if (!product) continue;
        const Values w = random_values(request.weight().count(), 1);
        EXPECT_TRUE(StoredWeight(context, product->weight_format(), w).plain(context) == w);
      }
}

TEST(InnerProduct, AcceptsTurnedWeights) {
  for (InnerProductRequest request : requests()) {
    request.turns = true;
    EXPECT_EQ(check(make_inner_product_onednn, request), kOneDnnHasKernels);
    EXPECT_TRUE(check(make_inner_product_gemm, request));
    EXPECT_TRUE(check(make_inner_product_generic, request, DeviceKind::kSimulated));
  }
}

TEST(InnerProduct, SumsGradientsOverManyRows) {
  const int64_t sizes[][3] = {{639, 33, 10}, {640, 33, 10}, {1500, 64, 80}, {3000, 1, 16}};
  for (const auto& [rows, inputs, outputs] : sizes)
    for (int options = 0; options < 4; ++options)
      for (const bool in_blocks : {false, true}) {
        InnerProductRequest request{rows, inputs, outputs, (options & 1) != 0, (options & 2) != 0, {}, true, true};
        if (!in_blocks) request.w_format = WeightFormat(request.weight());
        EXPECT_EQ(check(make_inner_product_onednn, request), kOneDnnHasKernels);
      }
}

TEST(InnerProduct, WorksInGivenWeightFormats) {
  if (!kOneDnnHasKernels) GTEST_SKIP() << "only one format exists";
  Context context(2);
  std::string why;
  const InnerProductRequest blocks{64, 80, 50, false, true, {}, true, true};
  const auto owner = make_inner_product_onednn(blocks, context, why);
  ASSERT_TRUE(owner) << why;
  ASSERT_FALSE(owner->weight_format().is_plain());
  for (const WeightFormat& format : {owner->weight_format(), WeightFormat(blocks.weight())})
    for (int64_t rows : {64, 1, 7}) {
      InnerProductRequest request = blocks;
      request.rows = rows;
      request.w_format = format;
      EXPECT_EQ(check(make_inner_product_onednn, request), kOneDnnHasKernels);
      EXPECT_TRUE(check(make_inner_product_gemm, request));
    }
}

TEST(InnerProduct, EmptySumsAreZero) {
  for (const auto& [rows, inputs, outputs] : {std::tuple{0, 3, 2}, {2, 0, 3}}) {
    InnerProductRequest request{rows, inputs, outputs, false, true, {}, true, true};
    EXPECT_FALSE(check(make_inner_product_onednn, request));
    EXPECT_TRUE(check(make_inner_product_gemm, request));
    EXPECT_TRUE(check(make_inner_product_generic, request, DeviceKind::kSimulated));
  }
}

}  // namespace
}  // namespace cortado::kernels

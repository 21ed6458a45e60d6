// The descriptors passed to cuBLASLt are read back and evaluated by their documented meaning, with plain loops over
// column-major matrices. Needs no device; matmul_test.cc and inner_product_test.cc test the results on one.

#ifdef CORTADO_WITH_CUDA

#include <gtest/gtest.h>

#include "kernels/cuda/cublaslt.h"
#include "tests/kernels/operand.h"

namespace cortado::kernels::cublaslt {
namespace {

using testing::random_values;
using testing::Values;

template <typename Value>
Value attribute_of(const std::shared_ptr<void>& layout, cublasLtMatrixLayoutAttribute_t name) {
  Value value{};
  size_t written = 0;
  EXPECT_EQ(cublasLtMatrixLayoutGetAttribute(static_cast<cublasLtMatrixLayout_t>(layout.get()), name, &value,
                                             sizeof value, &written),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(written, sizeof value);
  return value;
}

template <typename Value>
Value attribute_of(const std::shared_ptr<void>& operation, cublasLtMatmulDescAttributes_t name) {
  Value value{};
  size_t written = 0;
  EXPECT_EQ(cublasLtMatmulDescGetAttribute(static_cast<cublasLtMatmulDesc_t>(operation.get()), name, &value,
                                           sizeof value, &written),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(written, sizeof value);
  return value;
}

/// Matrices described by a layout.
struct Told {
  int64_t rows, columns, line, step;
  int32_t count;
  cudaDataType_t type;

  explicit Told(const std::shared_ptr<void>& layout)
      : rows(int64_t(attribute_of<uint64_t>(layout, CUBLASLT_MATRIX_LAYOUT_ROWS))),
        columns(int64_t(attribute_of<uint64_t>(layout, CUBLASLT_MATRIX_LAYOUT_COLS))),
        line(attribute_of<int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_LD)),
        step(attribute_of<int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)),
        count(attribute_of<int32_t>(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)),
        type(cudaDataType_t(attribute_of<uint32_t>(layout, CUBLASLT_MATRIX_LAYOUT_TYPE))) {
    EXPECT_EQ(attribute_of<int32_t>(layout, CUBLASLT_MATRIX_LAYOUT_ORDER), CUBLASLT_ORDER_COL);
  }
  int64_t at(int64_t matrix, int64_t row, int64_t column, bool transposed) const {
    return matrix * step + (transposed ? row * line + column : column * line + row);
  }
};

/// Evaluates the description for our `a` and `b`.
std::vector<double> done(const Description& told, const Values& a, const Values& b, size_t size) {
  const Told first(told.first), second(told.second), result(told.result);
  const bool t1 = attribute_of<int32_t>(told.operation, CUBLASLT_MATMUL_DESC_TRANSA) == CUBLAS_OP_T,
             t2 = attribute_of<int32_t>(told.operation, CUBLASLT_MATMUL_DESC_TRANSB) == CUBLAS_OP_T;
  const int64_t inner = t1 ? first.rows : first.columns;
  EXPECT_EQ(inner, t2 ? second.columns : second.rows);
  EXPECT_EQ(result.rows, t1 ? first.columns : first.rows);
  EXPECT_EQ(result.columns, t2 ? second.rows : second.columns);
  EXPECT_EQ(first.count, result.count);
  EXPECT_EQ(second.count, result.count);
  std::vector<double> c(size, 0.0);
  for (int64_t i = 0; i < result.count; ++i)
    for (int64_t row = 0; row < result.rows; ++row)
      for (int64_t column = 0; column < result.columns; ++column)
        for (int64_t p = 0; p < inner; ++p)
          c.at(size_t(result.at(i, row, column, false))) +=
              double(b.at(size_t(first.at(i, row, p, t1)))) * a.at(size_t(second.at(i, p, column, t2)));
  return c;
}

class CublasLtDescription : public ::testing::Test {
 protected:
  void SetUp() override try { version(); } catch (const MissingLibrary& error) {
    GTEST_SKIP() << error.mistakes().front().message;
  }
};

TEST_F(CublasLtDescription, DescribesOurProduct) {
  constexpr int64_t m = 5, n = 7, k = 3;
  for (const int64_t count : {1, 4})
    for (int options = 0; options < 16; ++options) {
      const bool ta = (options & 1) != 0, tb = (options & 2) != 0;
      const int64_t step_a = (options & 4) != 0 ? 0 : m * k, step_b = (options & 8) != 0 ? 0 : k * n;
      SCOPED_TRACE(std::to_string(count) + " products, options " + std::to_string(options));
      const Values a = random_values(step_a ? count * m * k : m * k, 1),
                   b = random_values(step_b ? count * k * n : k * n, 2);
      std::vector<double> c(size_t(count * m * n), 0.0);
      for (int64_t t = 0; t < count; ++t)
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j)
            for (int64_t p = 0; p < k; ++p)
              c[size_t((t * m + i) * n + j)] += double(a[size_t(t * step_a + (ta ? p * m + i : i * k + p))]) *
                                                b[size_t(t * step_b + (tb ? j * k + p : p * n + j))];
      const Description told({m, n, k, ta, tb}, {}, {count, step_a, step_b}, Precision::kFp32);
      const std::vector<double> got = done(told, a, b, c.size());
      for (size_t i = 0; i < c.size(); ++i) ASSERT_NEAR(got[i], c[i], 1e-12) << i;
    }
}

TEST_F(CublasLtDescription, HasTypesAndArithmeticOfThePrecision) {
  struct Case {
    Precision precision;
    DType values, sums;
    cublasComputeType_t compute;
    cudaDataType_t operand, result;
  };
  const Case cases[] = {
      {Precision::kFp32, DType::kF32, DType::kF32, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F},
      {Precision::kTf32, DType::kF32, DType::kF32, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F},
      {Precision::kBf16, DType::kBF16, DType::kBF16, CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_16BF},
      {Precision::kFp16, DType::kF16, DType::kF32, CUBLAS_COMPUTE_32F, CUDA_R_16F, CUDA_R_32F}};
  for (const Case& c : cases) {
    const Description told({5, 7, 3, false, false, c.values, c.values, c.sums}, {}, {.count = 2, .step_a = 15},
                           c.precision);
    EXPECT_EQ(attribute_of<int32_t>(told.operation, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE), c.compute);
    EXPECT_EQ(attribute_of<int32_t>(told.operation, CUBLASLT_MATMUL_DESC_SCALE_TYPE), CUDA_R_32F);
    EXPECT_EQ(Told(told.first).type, c.operand);
    EXPECT_EQ(Told(told.second).type, c.operand);
    EXPECT_EQ(Told(told.result).type, c.result);
  }
}

}  // namespace
}  // namespace cortado::kernels::cublaslt

#endif

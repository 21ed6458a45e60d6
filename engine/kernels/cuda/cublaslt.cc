// cuBLASLt is column-major: its first operand is our b, its second our a, and its result c transposed, which is our
// row-major c. The bias that it adds to each row of its result is therefore added to each of our columns.

#include "kernels/cuda/cublaslt.h"

#include <algorithm>

#include "core/error.h"

namespace cortado::kernels::cublaslt {

namespace {

constexpr uint32_t kAligned = 16;  // required by the fastest algorithms

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(ExitCode::kDevice, std::string(call) + ": " + cublasLtGetStatusString(status));
}

class Handle {
 public:
  Handle() { check(cublasLtCreate(&handle_), "cublasLtCreate"); }
  ~Handle() { cublasLtDestroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  cublasLtHandle_t get() const { return handle_; }

 private:
  cublasLtHandle_t handle_ = nullptr;
};

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return CUDA_R_32F;
    case DType::kF16:
      return CUDA_R_16F;
    case DType::kBF16:
      return CUDA_R_16BF;
    default:
      throw_internal("cuBLASLt does not support type " + name_of(dtype));
  }
}

template <typename Value>
void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t name, const Value& value) {
  check(cublasLtMatrixLayoutSetAttribute(layout, name, &value, sizeof value), "cublasLtMatrixLayoutSetAttribute");
}

/// `count` column-major matrices of rows x columns, with a stride of `step` values.
std::shared_ptr<void> matrices(DType dtype, int64_t rows, int64_t columns, int64_t count, int64_t step) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, type_of(dtype), uint64_t(rows), uint64_t(columns), rows),
        "cublasLtMatrixLayoutCreate");
  std::shared_ptr<void> owner(layout, [](cublasLtMatrixLayout_t made) { cublasLtMatrixLayoutDestroy(made); });
  if (count == 1) return owner;
  set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t(count));
  set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, step);
  return owner;
}

template <typename Value>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t name, const Value& value) {
  check(cublasLtMatmulDescSetAttribute(operation, name, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
}

template <typename Value>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t name, const Value& value) {
  check(cublasLtMatmulPreferenceSetAttribute(preference, name, &value, sizeof value),
        "cublasLtMatmulPreferenceSetAttribute");
}

std::shared_ptr<void> describe(const GemmShape& s, const After& after, Precision precision) {
  const bool rounds = precision == Precision::kTf32 && s.a == DType::kF32;
  cublasLtMatmulDesc_t operation = nullptr;
  check(cublasLtMatmulDescCreate(&operation, rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  std::shared_ptr<void> owner(operation, [](cublasLtMatmulDesc_t made) { cublasLtMatmulDescDestroy(made); });
  set(operation, CUBLASLT_MATMUL_DESC_TRANSA, s.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSB, s.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  const cublasLtEpilogue_t epilogue = after.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (after.bias) set(operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(s.c));
  return owner;
}

std::shared_ptr<void> preference(const CudaOptions& options) {
  cublasLtMatmulPreference_t made = nullptr;
  check(cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
  std::shared_ptr<void> owner(made, [](cublasLtMatmulPreference_t own) { cublasLtMatmulPreferenceDestroy(own); });
  constexpr uint64_t kMaxWorkspace = 32 << 20;
  set(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::min<uint64_t>(kMaxWorkspace, uint64_t(options.workspace)));
  const uint32_t ordered = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (!options.fast) set(made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, ordered);
  return owner;
}

/// The alignment of all matrices of an operand, at most kAligned, if the first one is aligned to kAligned.
uint32_t alignment_of(DType dtype, int64_t step) {
  uint32_t bytes = kAligned;
  while (uint64_t(step) * size_of(dtype) % bytes != 0) bytes /= 2;
  return bytes;
}

}  // namespace

std::string version() {
  const size_t number = cublasLtGetVersion();  // 130002 is 13.0.2
  return "cuBLASLt " + std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

Description::Description(const GemmShape& s, const After& after, const Batch& batch, Precision precision)
    : operation(describe(s, after, precision)),
      first(matrices(s.b, s.transpose_b ? s.k : s.n, s.transpose_b ? s.n : s.k, batch.count, batch.step_b)),
      second(matrices(s.a, s.transpose_a ? s.m : s.k, s.transpose_a ? s.k : s.m, batch.count, batch.step_a)),
      result(matrices(s.c, s.n, s.m, batch.count, s.m * s.n)) {}

Product::Product(Context& context, const GemmShape& s, const After& after, const Batch& batch)
    : description_(s, after, batch, context.precision), after_(after) {
  const int64_t step_c = batch.count > 1 ? s.m * s.n : 0;
  aligned_ =
      choose(context, {alignment_of(s.a, batch.step_a), alignment_of(s.b, batch.step_b), alignment_of(s.c, step_c)});
  anywhere_ = choose(context, {uint32_t(size_of(s.a)), uint32_t(size_of(s.b)), uint32_t(size_of(s.c))});
}

Product::Algorithm Product::choose(Context& context, const Alignment& alignment) const {
  const std::shared_ptr<void> owner = preference(context.handle<CudaOptions>());
  const auto wishes = static_cast<cublasLtMatmulPreference_t>(owner.get());
  set(wishes, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment.b);
  set(wishes, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment.a);
  set(wishes, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment.c);
  set(wishes, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment.c);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const auto result = static_cast<cublasLtMatrixLayout_t>(description_.result.get());
  check(cublasLtMatmulAlgoGetHeuristic(
            context.handle<Handle>().get(), static_cast<cublasLtMatmulDesc_t>(description_.operation.get()),
            static_cast<cublasLtMatrixLayout_t>(description_.first.get()),
            static_cast<cublasLtMatrixLayout_t>(description_.second.get()), result, result, wishes, 1, &found, &count),
        "cublasLtMatmulAlgoGetHeuristic");
  if (count == 0) throw Error(ExitCode::kDevice, "cublasLtMatmulAlgoGetHeuristic: no algorithm");
  return {found.algo, int64_t(found.workspaceSize)};
}

void Product::run(Context& context, const void* a, const void* b, void* c, float beta, const void* bias,
                  void* workspace) {
  const auto operation = static_cast<cublasLtMatmulDesc_t>(description_.operation.get());
  if (after_.bias) set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  const auto is_aligned = [](const void* operand) { return reinterpret_cast<uintptr_t>(operand) % kAligned == 0; };
  const Algorithm& chosen = is_aligned(a) && is_aligned(b) && is_aligned(c) ? aligned_ : anywhere_;
  const auto result = static_cast<cublasLtMatrixLayout_t>(description_.result.get());
  check(cublasLtMatmul(context.handle<Handle>().get(), operation, &after_.alpha, b,
                       static_cast<cublasLtMatrixLayout_t>(description_.first.get()), a,
                       static_cast<cublasLtMatrixLayout_t>(description_.second.get()), &beta, c, result, c, result,
                       &chosen.algorithm, workspace, size_t(chosen.workspace),
                       static_cast<cudaStream_t>(context.stream())),
        "cublasLtMatmul");
}

}  // namespace cortado::kernels::cublaslt

// The library counts columns first: its first operand is our b, its second our a, and its result c transposed, which in
// memory is our c. So the bias that it adds to each row of its result is ours to each column.

#include "kernels/cuda/cublaslt.h"

#include <algorithm>

#include "core/error.h"

namespace cortado::kernels::cublaslt {

namespace {

constexpr uint32_t kAligned = 16;  // what the fastest algorithms ask for

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
      throw_internal("cuBLASLt is given values of type " + name_of(dtype));
  }
}

/// A matrix of rows x columns, column by column.
std::shared_ptr<void> matrix(DType dtype, int64_t rows, int64_t columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, type_of(dtype), uint64_t(rows), uint64_t(columns), rows),
        "cublasLtMatrixLayoutCreate");
  return {layout, [](cublasLtMatrixLayout_t made) { cublasLtMatrixLayoutDestroy(made); }};
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

std::shared_ptr<void> describe(const GemmShape& s, const Product::After& after, Precision precision) {
  const bool rounds = precision == Precision::kTf32 && s.a == DType::kF32;
  cublasLtMatmulDesc_t operation = nullptr;
  check(cublasLtMatmulDescCreate(&operation, rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  std::shared_ptr<void> owner(operation, [](cublasLtMatmulDesc_t made) { cublasLtMatmulDescDestroy(made); });
  set(operation, CUBLASLT_MATMUL_DESC_TRANSA, s.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSB, s.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  const cublasLtEpilogue_t epilogue = after.bias   ? after.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS
                                      : after.relu ? CUBLASLT_EPILOGUE_RELU
                                                   : CUBLASLT_EPILOGUE_DEFAULT;
  set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (after.bias) set(operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(s.c));
  return owner;
}

/// `alignment`: in bytes, of every operand.
std::shared_ptr<void> preference(const CudaOptions& options, uint32_t alignment) {
  cublasLtMatmulPreference_t made = nullptr;
  check(cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
  std::shared_ptr<void> owner(made, [](cublasLtMatmulPreference_t own) { cublasLtMatmulPreferenceDestroy(own); });
  constexpr uint64_t kMaxWorkspace = 32 << 20;
  set(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::min<uint64_t>(kMaxWorkspace, uint64_t(options.workspace)));
  for (const auto name : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set(made, name, alignment);
  const uint32_t ordered = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (!options.fast) set(made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, ordered);
  return owner;
}

}  // namespace

std::string version() {
  const size_t number = cublasLtGetVersion();  // 130002 is 13.0.2
  return "cuBLASLt " + std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

Product::Product(Context& context, const GemmShape& s, const After& after)
    : operation_(describe(s, after, context.precision)),
      a_(s.transpose_b ? matrix(s.b, s.k, s.n) : matrix(s.b, s.n, s.k)),
      b_(s.transpose_a ? matrix(s.a, s.m, s.k) : matrix(s.a, s.k, s.m)),
      c_(matrix(s.c, s.n, s.m)),
      bias_(after.bias),
      aligned_(choose(context, kAligned)),
      anywhere_(choose(context, uint32_t(size_of(s.a)))) {}

Product::Algorithm Product::choose(Context& context, uint32_t alignment) const {
  const std::shared_ptr<void> wishes = preference(context.handle<CudaOptions>(), alignment);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  check(cublasLtMatmulAlgoGetHeuristic(
            context.handle<Handle>().get(), static_cast<cublasLtMatmulDesc_t>(operation_.get()),
            static_cast<cublasLtMatrixLayout_t>(a_.get()), static_cast<cublasLtMatrixLayout_t>(b_.get()),
            static_cast<cublasLtMatrixLayout_t>(c_.get()), static_cast<cublasLtMatrixLayout_t>(c_.get()),
            static_cast<cublasLtMatmulPreference_t>(wishes.get()), 1, &found, &count),
        "cublasLtMatmulAlgoGetHeuristic");
  if (count == 0) throw Error(ExitCode::kDevice, "cublasLtMatmulAlgoGetHeuristic: no algorithm");
  return {found.algo, int64_t(found.workspaceSize)};
}

void Product::run(Context& context, const void* a, const void* b, void* c, float beta, const void* bias,
                  void* workspace) {
  const auto operation = static_cast<cublasLtMatmulDesc_t>(operation_.get());
  if (bias_) set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  const float alpha = 1;
  const auto is_aligned = [](const void* operand) { return reinterpret_cast<uintptr_t>(operand) % kAligned == 0; };
  const Algorithm& chosen = is_aligned(a) && is_aligned(b) && is_aligned(c) ? aligned_ : anywhere_;
  const auto layout = static_cast<cublasLtMatrixLayout_t>(c_.get());
  check(cublasLtMatmul(context.handle<Handle>().get(), operation, &alpha, b,
                       static_cast<cublasLtMatrixLayout_t>(a_.get()), a, static_cast<cublasLtMatrixLayout_t>(b_.get()),
                       &beta, c, layout, c, layout, &chosen.algorithm, workspace, size_t(chosen.workspace),
                       static_cast<cudaStream_t>(context.stream)),
        "cublasLtMatmul");
}

}  // namespace cortado::kernels::cublaslt

#pragma once

// Batched matrix products: c_i = alpha op(a_i) op(b_i) for i in [0, count), or alpha times their sum.

#include <memory>
#include <string>

#include "core/context.h"
#include "kernels/gemm.h"

namespace cortado::kernels {

struct MatMulRequest {
  GemmShape shape;                 ///< of each product; a and b have one type, c the same or 32-bit floats
  int64_t count = 1;               ///< number of products
  int64_t step_a = 0, step_b = 0;  ///< stride between matrices in values; 0: shared by all products
  bool adds_up = false;            ///< c is one matrix, the sum; else `count` consecutive matrices
  float alpha = 1;
};

/// Prepared products. Accumulates in 32 bits and rounds once. Calls do not allocate. An object serves one caller at a
/// time.
class MatMul {
 public:
  virtual ~MatMul() = default;
  virtual std::string name() const = 0;
  virtual int64_t scratch() const { return 0; }  ///< bytes; aligned like all blocks of a plan
  /// Overwrites c.
  virtual void run(Context& context, const void* a, const void* b, void* c, void* scratch) = 0;
};

/// Returns the first candidate that accepts. `refused` collects the reasons of the others.
std::unique_ptr<MatMul> plan_matmul(const MatMulRequest& request, Context& context, std::string* refused = nullptr);

std::unique_ptr<MatMul> make_matmul_onednn(const MatMulRequest& request, Context& context, std::string& why);
std::unique_ptr<MatMul> make_matmul_openblas(const MatMulRequest& request, Context& context, std::string& why);
std::unique_ptr<MatMul> make_matmul_cublaslt(const MatMulRequest& request, Context& context, std::string& why);
std::unique_ptr<MatMul> make_matmul_generic(const MatMulRequest& request, Context& context, std::string& why);

}  // namespace cortado::kernels

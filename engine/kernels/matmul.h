#pragma once

// Products of many matrices in one call: c_i = alpha op(a_i) op(b_i) for i in [0, count), or alpha times the sum of
// them.

#include <memory>
#include <string>

#include "core/context.h"
#include "kernels/gemm.h"

namespace cortado::kernels {

struct MatMulRequest {
  GemmShape shape;                 ///< of each product; a and b are of one type, c of that or of 32-bit floats
  int64_t count = 1;               ///< of products
  int64_t step_a = 0, step_b = 0;  ///< values from a matrix to the next one; 0: one serves all products
  bool adds_up = false;            ///< c is one matrix, the sum; else `count` of them, one behind the other
  float alpha = 1;
};

/// Prepared products. Sums are in 32 bits, rounded once. Calls allocate nothing. One object serves one caller at a
/// time.
class MatMul {
 public:
  virtual ~MatMul() = default;
  virtual std::string name() const = 0;
  virtual int64_t scratch() const { return 0; }  ///< bytes; the block begins where plans let one begin
  /// Overwrites c.
  virtual void run(Context& context, const void* a, const void* b, void* c, void* scratch) = 0;
};

/// The first candidate that accepts. `refused` collects why others declined.
std::unique_ptr<MatMul> plan_matmul(const MatMulRequest& request, Context& context, std::string* refused = nullptr);

std::unique_ptr<MatMul> make_matmul_onednn(const MatMulRequest& request, Context& context, std::string& why);
std::unique_ptr<MatMul> make_matmul_openblas(const MatMulRequest& request, Context& context, std::string& why);
std::unique_ptr<MatMul> make_matmul_cublaslt(const MatMulRequest& request, Context& context, std::string& why);
std::unique_ptr<MatMul> make_matmul_generic(const MatMulRequest& request, Context& context, std::string& why);

}  // namespace cortado::kernels

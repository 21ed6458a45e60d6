// Products by OpenBLAS. It is loaded when the first product is planned: it reads its environment then, and most
// programs never need it.

#include <cstdlib>

#include "kernels/cpu/gemm_pieces.h"
#include "kernels/cpu_level.h"
#include "kernels/gemm.h"
#include "kernels/library.h"

namespace cortado::kernels {

namespace {

constexpr const char* kFile = "libopenblas.so.0";

// Constants of the CBLAS standard.
constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;
constinit LibraryFunction<void(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*,
                               int)>
    cblas_sgemm(kFile, "cblas_sgemm");
constinit LibraryFunction<char*()> openblas_get_config(kFile, "openblas_get_config"),
    openblas_get_corename(kFile, "openblas_get_corename");

/// Sets an environment variable during its lifetime, unless the user has set it.
class SetForNow {
 public:
  SetForNow(const char* name, const char* value) : name_(std::getenv(name) ? nullptr : name) {
    if (name_) ::setenv(name_, value, 1);
  }
  ~SetForNow() {
    if (name_) ::unsetenv(name_);
  }
  SetForNow(const SetForNow&) = delete;
  SetForNow& operator=(const SetForNow&) = delete;

 private:
  const char* name_;
};

/// Loads OpenBLAS. Returns the error, or "". If the process has already loaded it, its settings stay unchanged.
std::string open() {
  const SetForNow threads("OPENBLAS_NUM_THREADS", "1");
  try {
    library_symbol(kFile, "cblas_sgemm");
    return "";
  } catch (const MissingLibrary& missing) {
    return missing.mistakes().front().message;
  }
}

const std::string& problem_with_openblas() {
  static const std::string problem = open();
  return problem;
}

}  // namespace

bool multiply_openblas(const GemmPiece& p) {
  cblas_sgemm(kRowMajor, p.transpose_a ? kTransposed : kPlain, p.transpose_b ? kTransposed : kPlain, int(p.m), int(p.n),
              int(p.k), p.alpha, p.a, int(p.lda), p.b, int(p.ldb), p.beta, p.c, int(p.ldc));
  return true;
}

bool suits_openblas(Context& context, std::string& why) {
  if (context.handle<CpuLevels>().onednn_generates) return why = "oneDNN generates code for this CPU", false;
  why = problem_with_openblas();
  return why.empty();
}

std::string openblas_version() {
  if (!problem_with_openblas().empty()) return "";
  const std::string config = openblas_get_config();  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  return config.substr(0, config.find(' ', config.find(' ') + 1)) + " (" + openblas_get_corename() + ")";
}

}  // namespace cortado::kernels

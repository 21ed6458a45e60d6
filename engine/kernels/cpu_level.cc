#include "kernels/cpu_level.h"

namespace cortado::kernels {

CpuLevel compiled_level() {
#if defined(__AVX512F__) && defined(__AVX512BW__)
  return CpuLevel::kAvx512;
#elif defined(__AVX2__) && defined(__FMA__)
  return CpuLevel::kAvx2;
#else
  return CpuLevel::kUnknown;
#endif
}

std::string name_of(CpuLevel level) {
  switch (level) {
    case CpuLevel::kAvx2:
      return "AVX2";
    case CpuLevel::kAvx512:
      return "AVX-512";
    default:
      return "an unknown level";
  }
}

}  // namespace cortado::kernels

// Detects the level of the CPU. This file and core/cpu/lesser_cpu.cc are compiled for the architecture's baseline,
// whatever the level of the other files (core/CMakeLists.txt).

#include "core/cpu/isa_level.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace cortado {

#ifdef __x86_64__

namespace {

/// AMX-TILE, AMX-BF16 and AMX-INT8 are bits 24, 22 and 25 of EDX in leaf 7. The operating system must also save the
/// tile state, bits 17 and 18 of XCR0, which the compiler's feature check ignores.
bool has_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return false;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned kTileState = 3u << 17, kWanted = 1u << 24 | 1u << 22 | 1u << 25;
  if ((low & kTileState) != kTileState) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kWanted) == kWanted;
}

}  // namespace

IsaLevel machine_isa() {
  __builtin_cpu_init();
#ifdef __clang__  // knows level names only from version 18 on; these features separate the levels on all existing CPUs
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"),
             v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"),
             v4 = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512dq");
#else
  const bool v2 = __builtin_cpu_supports("x86-64-v2"), v3 = __builtin_cpu_supports("x86-64-v3"),
             v4 = __builtin_cpu_supports("x86-64-v4");
#endif
  if (!v2) return IsaLevel::kBase;
  if (!v3) return IsaLevel::kV2;
  if (!v4) return IsaLevel::kV3;
  return has_amx() && __builtin_cpu_supports("avx512bf16") ? IsaLevel::kAmx : IsaLevel::kV4;
}

#else

IsaLevel machine_isa() { return IsaLevel::kBase; }

#endif

}  // namespace cortado

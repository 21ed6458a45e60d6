// What the CPU at hand can run. This and core/cpu/lesser_cpu.cc are compiled for every CPU of the architecture,
// whatever the rest is for (core/CMakeLists.txt).

#include "core/cpu/isa_level.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace cortado {

#ifdef __x86_64__

namespace {

/// AMX-TILE, AMX-BF16 and AMX-INT8: leaf 7, bits 24, 22 and 25 of EDX; and the state that the system must save for
/// them, bits 17 and 18 of XCR0. The compiler's own check of features does not know the last.
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
#ifdef __clang__  // which knows levels by name from version 18 on: what tells them apart on CPUs that were built
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

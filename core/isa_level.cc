#include "core/isa_level.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include <algorithm>

namespace cortado {

namespace {

struct LevelInfo {
  IsaLevel level;
  const char *name, *meaning;
};

constexpr LevelInfo kLevels[] = {{IsaLevel::kBase, "base", "what every CPU of its architecture has"},
                                 {IsaLevel::kV2, "v2", "SSE4.2"},
                                 {IsaLevel::kV3, "v3", "AVX2 and FMA"},
                                 {IsaLevel::kV4, "v4", "AVX-512"},
                                 {IsaLevel::kAmx, "amx", "AMX"}};

const LevelInfo& info_of(IsaLevel level) { return kLevels[size_t(level)]; }

#ifdef __x86_64__

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

#endif

}  // namespace

std::string name_of(IsaLevel level) { return info_of(level).name; }

std::string meaning_of(IsaLevel level) { return info_of(level).meaning; }

std::optional<IsaLevel> isa_level_named(const std::string& name) {
  const auto found = std::ranges::find(kIsaLevels, name, [](IsaLevel level) { return name_of(level); });
  return found == kIsaLevels.end() ? std::nullopt : std::optional(*found);
}

IsaLevel compiled_isa() {
#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512BW__)
  return IsaLevel::kAmx;
#elif defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
  return IsaLevel::kV4;
#elif defined(__AVX2__) && defined(__FMA__)
  return IsaLevel::kV3;
#elif defined(__SSE4_2__)
  return IsaLevel::kV2;
#else
  return IsaLevel::kBase;
#endif
}

IsaLevel machine_isa() {
#ifdef __x86_64__
  if (!__builtin_cpu_supports("x86-64-v2")) return IsaLevel::kBase;
  if (!__builtin_cpu_supports("x86-64-v3")) return IsaLevel::kV2;
  if (!__builtin_cpu_supports("x86-64-v4")) return IsaLevel::kV3;
  return has_amx() && __builtin_cpu_supports("avx512bf16") ? IsaLevel::kAmx : IsaLevel::kV4;
#else
  return IsaLevel::kBase;
#endif
}

}  // namespace cortado

#include "core/cpu/isa_level.h"

#include <algorithm>

namespace cortado {

namespace {

struct LevelInfo {
  IsaLevel level;
  const char *name, *meaning;
};

constexpr LevelInfo kLevels[] = {{IsaLevel::kBase, "base", "the baseline of the architecture"},
                                 {IsaLevel::kV2, "v2", "SSE4.2"},
                                 {IsaLevel::kV3, "v3", "AVX2 and FMA"},
                                 {IsaLevel::kV4, "v4", "AVX-512"},
                                 {IsaLevel::kAmx, "amx", "AMX"}};

const LevelInfo& info_of(IsaLevel level) { return kLevels[size_t(level)]; }

}  // namespace

std::string name_of(IsaLevel level) { return info_of(level).name; }

std::vector<std::string> names_of(std::span<const IsaLevel> levels) {
  std::vector<std::string> names;
  for (const IsaLevel level : levels) names.push_back(name_of(level));
  return names;
}

std::string meaning_of(IsaLevel level) { return info_of(level).meaning; }

std::optional<IsaLevel> isa_level_named(const std::string& name) {
  const auto found = std::ranges::find(kIsaLevels, name, [](IsaLevel level) { return name_of(level); });
  return found == kIsaLevels.end() ? std::nullopt : std::optional(*found);
}

// Requires the same features as machine_isa(), so that a program compiled on a CPU never has a higher level than that
// CPU. If a virtual machine hides one instruction of a level, the compiled level is the one below.
#if defined(__SSE4_2__) && defined(__SSSE3__) && defined(__POPCNT__)
#define CORTADO_V2 1
#endif
#if defined(CORTADO_V2) && defined(__AVX2__) && defined(__FMA__) && defined(__BMI__) && defined(__BMI2__) && \
    defined(__F16C__) && defined(__LZCNT__) && defined(__MOVBE__)
#define CORTADO_V3 1
#endif
#if defined(CORTADO_V3) && defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512CD__) && \
    defined(__AVX512DQ__) && defined(__AVX512VL__)
#define CORTADO_V4 1
#endif

const IsaLevel kCompiledIsa =
#if defined(CORTADO_V4) && defined(__AVX512BF16__) && defined(__AMX_TILE__) && defined(__AMX_BF16__) && \
    defined(__AMX_INT8__)
    IsaLevel::kAmx;
#elif defined(CORTADO_V4)
    IsaLevel::kV4;
#elif defined(CORTADO_V3)
    IsaLevel::kV3;
#elif defined(CORTADO_V2)
    IsaLevel::kV2;
#else
    IsaLevel::kBase;
#endif

}  // namespace cortado

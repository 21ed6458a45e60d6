#include "core/isa_level.h"

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

}  // namespace

std::string name_of(IsaLevel level) { return info_of(level).name; }

std::string meaning_of(IsaLevel level) { return info_of(level).meaning; }

std::optional<IsaLevel> isa_level_named(const std::string& name) {
  const auto found = std::ranges::find(kIsaLevels, name, [](IsaLevel level) { return name_of(level); });
  return found == kIsaLevels.end() ? std::nullopt : std::optional(*found);
}

const IsaLevel kCompiledIsa =
#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512BW__)
    IsaLevel::kAmx;
#elif defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
    IsaLevel::kV4;
#elif defined(__AVX2__) && defined(__FMA__)
    IsaLevel::kV3;
#elif defined(__SSE4_2__)
    IsaLevel::kV2;
#else
    IsaLevel::kBase;
#endif

}  // namespace cortado

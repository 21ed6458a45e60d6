#pragma once

// The levels of instructions that programs are compiled for: those of the x86-64 psABI, and Intel's matrix extensions
// above them.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cortado {

enum class IsaLevel {
  kBase,  ///< what every CPU of the architecture has; the one level where that is not x86-64
  kV2,    ///< SSE4.2
  kV3,    ///< AVX2 and FMA
  kV4,    ///< AVX-512
  kAmx,   ///< AMX for bfloat16 and int8, and AVX-512 for them
};

/// Those that --cpu-level names, lowest first.
constexpr std::array<IsaLevel, 4> kIsaLevels = {IsaLevel::kV2, IsaLevel::kV3, IsaLevel::kV4, IsaLevel::kAmx};

/// "v2", "v3", "v4", "amx"; "base".
std::string name_of(IsaLevel level);
std::vector<std::string> names_of(std::span<const IsaLevel> levels);
/// What a level has: "AVX2 and FMA".
std::string meaning_of(IsaLevel level);
/// None for other words.
std::optional<IsaLevel> isa_level_named(const std::string& name);

/// What this program was compiled for.
extern const IsaLevel kCompiledIsa;
/// The highest that this CPU, and its system, can run. A program for a higher one ends before main(), with exit code 6.
IsaLevel machine_isa();

}  // namespace cortado

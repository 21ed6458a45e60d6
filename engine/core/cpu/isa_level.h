#pragma once

// CPU levels for which programs are compiled: those of the x86-64 psABI, and above them Intel AMX.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cortado {

enum class IsaLevel {
  kBase,  ///< the architecture's baseline; the only level on CPUs other than x86-64
  kV2,    ///< SSE4.2
  kV3,    ///< AVX2 and FMA
  kV4,    ///< AVX-512
  kAmx,   ///< AMX with bfloat16 and int8, and AVX-512 BF16
};

/// The values of --cpu-level, lowest first.
constexpr std::array<IsaLevel, 4> kIsaLevels = {IsaLevel::kV2, IsaLevel::kV3, IsaLevel::kV4, IsaLevel::kAmx};

/// "v2", "v3", "v4", "amx"; "base".
std::string name_of(IsaLevel level);
std::vector<std::string> names_of(std::span<const IsaLevel> levels);
/// The instruction sets of a level: "AVX2 and FMA".
std::string meaning_of(IsaLevel level);
/// Parses a name; nullopt if it is unknown.
std::optional<IsaLevel> isa_level_named(const std::string& name);

/// The level for which this program was compiled.
extern const IsaLevel kCompiledIsa;
/// The highest level that this CPU and its operating system support. A program compiled for a higher level exits with
/// code 6 before main().
IsaLevel machine_isa();

}  // namespace cortado

#pragma once

// The CPU level for cost estimates: the vector width that kernels use. Costs were measured once on each level. Stored
// in a Context as context.handle<CpuLevels>(). To override, set it before kernels are planned.

#include <cstdint>
#include <string>

namespace cortado::kernels {

/// kUnknown: a level without measurements. Costs are guesses, so every candidate is timed.
enum class CpuLevel : uint8_t { kUnknown, kAvx2, kAvx512 };

/// The level for which this program and its own kernels were compiled.
CpuLevel compiled_level();
/// The level that oneDNN uses; ONEDNN_MAX_CPU_ISA may lower it.
CpuLevel onednn_level();

/// Whether oneDNN can use bfloat16 multiplication instructions on this CPU. Without them its kernels convert, slower
/// than 32-bit floats.
bool multiplies_bfloat16();

/// "AVX2", "AVX-512" or "an unknown level".
std::string name_of(CpuLevel level);

/// Whether oneDNN generates code for this architecture; otherwise it uses reference loops.
bool onednn_generates_code();

/// The levels of own kernels and of oneDNN's.
struct CpuLevels {
  CpuLevel own = compiled_level(), onednn = onednn_level();
  bool onednn_generates = onednn_generates_code();
};

}  // namespace cortado::kernels

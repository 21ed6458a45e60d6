#pragma once

// What the costs of candidates go by: the width of the vectors that a CPU computes with. Costs were measured once on
// each level. Lives in a Context: context.handle<CpuLevels>(); set otherwise before kernels are planned, if at all.

#include <cstdint>
#include <string>

namespace cortado::kernels {

/// kUnknown is every level without measurements: costs are guesses there, and every candidate is worth a run.
enum class CpuLevel : uint8_t { kUnknown, kAvx2, kAvx512 };

/// What this program was compiled for: the level of our own kernels.
CpuLevel compiled_level();
/// What oneDNN uses here, which ONEDNN_MAX_CPU_ISA may lower.
CpuLevel onednn_level();

/// Whether oneDNN has instructions here that multiply bfloat16 values. Elsewhere kernels take them all the same, behind
/// conversions, slower than 32-bit floats.
bool multiplies_bfloat16();

/// "AVX2", "AVX-512" or "an unknown level".
std::string name_of(CpuLevel level);

/// Whether oneDNN generates code for this architecture; else it has plain loops.
bool onednn_generates_code();

/// Of both kinds of candidates.
struct CpuLevels {
  CpuLevel own = compiled_level(), onednn = onednn_level();
  bool onednn_generates = onednn_generates_code();
};

}  // namespace cortado::kernels

#include "kernels/cpu/onednn/versions.h"
#include "kernels/cpu_level.h"
#include "kernels/devices.h"

namespace cortado::kernels {

namespace {

/// The largest set of instructions that `isa` includes and both versions of the library know.
std::string name_of(dnnl::cpu_isa isa) {
  using Isa = dnnl::cpu_isa;
  constexpr std::pair<Isa, const char*> kNames[] = {{Isa::avx512_core_amx, "avx512_core_amx"},
                                                    {Isa::avx512_core_bf16, "avx512_core_bf16"},
                                                    {Isa::avx512_core_vnni, "avx512_core_vnni"},
                                                    {Isa::avx512_core, "avx512_core"},
                                                    {Isa::avx2_vnni, "avx2_vnni"},
                                                    {Isa::avx2, "avx2"},
                                                    {Isa::avx, "avx"},
                                                    {Isa::sse41, "sse41"}};
  for (const auto& [part, name] : kNames)
    if (onednn::includes(isa, part)) return name;
  return "other instruction set";
}

}  // namespace

CpuLevel onednn_level() {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  if (onednn::includes(isa, dnnl::cpu_isa::avx512_core)) return CpuLevel::kAvx512;
  return onednn::includes(isa, dnnl::cpu_isa::avx2) ? CpuLevel::kAvx2 : CpuLevel::kUnknown;
}

bool onednn_generates_code() {
#ifdef __x86_64__
  return true;
#else
  return false;
#endif
}

bool multiplies_bfloat16() { return onednn::includes(dnnl::get_effective_cpu_isa(), dnnl::cpu_isa::avx512_core_bf16); }

std::string onednn_version() {
  const dnnl::version_t* version = dnnl::version();
  return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch) + " (" + name_of(dnnl::get_effective_cpu_isa()) + ")";
}

}  // namespace cortado::kernels

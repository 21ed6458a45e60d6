// `cortado devices`: the processors of this machine that can run nets, and their libraries.
#include "kernels/devices.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/cpu/cpu.h"
#include "core/cpu/isa_level.h"
#include "core/cpu/restart.h"
#include "core/text/text.h"
#include "core/threads/threads.h"
#include "tools/options/run_options.h"
#include "tools/output/terminal.h"
#include "tools/program/command.h"

namespace cortado::tools {

namespace {

/// The CPU's instruction sets that are relevant for nets.
std::vector<std::string> instructions_of(const CpuDescription& cpu) {
  std::vector<std::string> found;
  for (const char* wanted : {"sse4_2", "avx", "avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile"})
    if (std::find(cpu.flags.begin(), cpu.flags.end(), wanted) != cpu.flags.end()) found.push_back(wanted);
  return found;
}

/// The CPU level that runs, the level of the machine, and the others of this build.
std::string level_text() {
  std::string text = "level " + name_of(kCompiledIsa) + ": " + meaning_of(kCompiledIsa);
  if (machine_isa() != kCompiledIsa) text += ", of " + name_of(machine_isa()) + " (" + meaning_of(machine_isa()) + ")";
  const std::vector<std::string> built = names_of(built_isas());
  if (built.size() < 2) return text;
  text += "; built for";
  for (const std::string& name : built) text += " " + name;
  return text;
}

int run_devices(const Arguments& arguments) {
  const CpuDescription cpu = describe_cpu();
  std::string why_no_gpu;
  const std::vector<kernels::CudaDevice> gpus = kernels::cuda_devices(why_no_gpu);
  if (arguments.on("json")) {
    nlohmann::ordered_json json = {{"cpu",
                                    {{"name", cpu.name},
                                     {"threads", default_threads()},
                                     {"instructions", instructions_of(cpu)},
                                     {"level", name_of(kCompiledIsa)},
                                     {"machine_level", name_of(machine_isa())},
                                     {"built_levels", names_of(built_isas())},
                                     {"library", kernels::onednn_version()}}},
                                   {"gpus", nlohmann::ordered_json::array()}};
    for (const auto& gpu : gpus)
      json["gpus"].push_back({{"index", gpu.index},
                              {"name", gpu.name},
                              {"compute_capability", gpu.compute_capability},
                              {"multiprocessors", gpu.multiprocessors},
                              {"memory_bytes", gpu.memory_bytes},
                              {"free_bytes", gpu.free_bytes}});
    json["cuda"] = kernels::cuda_libraries();
    std::cout << json.dump(2) << "\n";
    return 0;
  }
  std::cout << "cpu     " << cpu.name << "\n        " << default_threads() << " threads, "
            << list_text(instructions_of(cpu), " ") << "\n        " << level_text() << "\n        "
            << kernels::onednn_version() << "\n";
  for (const auto& gpu : gpus)
    std::cout << "gpu " << gpu.index << "   " << gpu.name << ", compute capability " << gpu.compute_capability
              << "\n        " << gpu.multiprocessors << " multiprocessors, " << bytes_text(gpu.free_bytes) << " of "
              << bytes_text(gpu.memory_bytes) << " free\n";
  for (const std::string& library : kernels::cuda_libraries()) std::cout << "        " << library << "\n";
  if (gpus.empty()) std::cout << "gpu     none: " << why_no_gpu << "\n";
  return 0;
}

/// Accepted because caffe device_query has it.
Flag caffes_gpu_flag() {
  for (Flag flag : device_flags())
    if (flag.name == "gpu") {
      flag.rank = FlagRank::kHidden;
      return flag;
    }
  throw_internal("flag --gpu");
}

}  // namespace

Command devices_command() {
  return {.name = "devices",
          .summary = "List the CPU and the GPUs that nets can run on",
          .flags = {json_flag(), caffes_gpu_flag()},
          .examples = {{"cortado devices", "the CPU, its instructions and libraries, and GPUs"}},
          .run = run_devices};
}

}  // namespace cortado::tools

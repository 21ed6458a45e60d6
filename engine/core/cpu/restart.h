#pragma once

#include <vector>

#include "core/cpu/isa_level.h"

namespace cortado {

/// The levels for which this build has a program, lowest first. In a build for several levels the lowest is the main
/// program, and each level also has one in a subfolder named after the level.
std::vector<IsaLevel> built_isas();

/// Executes the program again with `argv` at the CPU's best level, or at the requested one, if this is another one. A
/// requested level also limits oneDNN (ONEDNN_MAX_CPU_ISA) and child processes. Throws Error(kUsage) if the build has
/// no program for the level, Error(kDevice) if the CPU does not support it. Call it first in main().
void reexec_for_cpu_level(char** argv);

}  // namespace cortado

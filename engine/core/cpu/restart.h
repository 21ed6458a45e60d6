#pragma once

#include <vector>

#include "core/cpu/isa_level.h"

namespace cortado {

/// The levels for which this build has a program, lowest first. In a build for several levels the lowest is the main
/// program, and each level also has one in a subfolder named after the level.
std::vector<IsaLevel> built_isas();

/// Executes the program again with `argv` if that makes it faster:
/// - at the CPU's best level, or at the requested one;
/// - with GOMP_SPINCOUNT set, so that waiting OpenMP threads spin for about 100 microseconds instead of milliseconds.
///   Other threads need that time on a busy machine, and the scheduler can move another thread to a sleeping one's CPU.
///   The OpenMP library reads its environment only when it is loaded. GOMP_SPINCOUNT or OMP_WAIT_POLICY, if set by the
///   user, take precedence.
///
/// A requested level also limits oneDNN (ONEDNN_MAX_CPU_ISA) and child processes. Throws Error(kUsage) if the build has
/// no program for the level, Error(kDevice) if the CPU does not support it. Call it first in main().
void reexec_for_cpu_level(char** argv);

}  // namespace cortado

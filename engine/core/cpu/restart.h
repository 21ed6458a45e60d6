#pragma once

#include <vector>

#include "core/cpu/isa_level.h"

namespace cortado {

/// The levels that this build has a program for, lowest first. One that is compiled for several has the lowest where
/// users find it, and each in a folder of its level's name beside that.
std::vector<IsaLevel> built_isas();

/// Starts the program once more, with `argv`, where that makes it faster:
/// - the one that was compiled for this CPU's level, or for the one that is asked for;
/// - with OpenMP's threads told to spin only some 100 microseconds while they wait, instead of milliseconds, which a
/// busy
///   machine's other threads and our own that are not running would need: a thread that sleeps lets the system move
///   another one to its CPU. The library reads its environment when it is loaded. A user's GOMP_SPINCOUNT or
///   OMP_WAIT_POLICY counts.
///
/// A level that is asked for holds oneDNN to it, too (ONEDNN_MAX_CPU_ISA), and what this process starts. Throws
/// Error(kUsage) where the build has no program for it, Error(kDevice) where the CPU cannot run it. First thing in
/// main().
void reexec_for_cpu_level(char** argv);

}  // namespace cortado

#pragma once

namespace cortado {

/// Ends a program that was compiled for a CPU with more instructions than this one has, with exit code 6. It runs
/// before main() where something calls it, which programs do; a library must not end its host (kCompiledIsa,
/// machine_isa()).
void end_on_lesser_cpus();

}  // namespace cortado

#pragma once

namespace cortado {

/// Exits with code 6 if the program was compiled for a higher level than this CPU supports. Linking it makes it run
/// before main(). Only programs call it; a library must not terminate its host (use kCompiledIsa and machine_isa()).
void end_on_lesser_cpus();

}  // namespace cortado

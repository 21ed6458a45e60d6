// Compiled for the architecture's baseline, as core/cpu/machine_isa.cc is, and linked only into programs.
#include "core/cpu/lesser_cpu.h"

#include <unistd.h>

#include "core/cpu/isa_level.h"
#include "core/exit_code.h"

namespace cortado {

/// Runs before all other initialization: static initializers may use instructions that the CPU lacks.
[[gnu::constructor(101)]] void end_on_lesser_cpus() {
  if (kCompiledIsa <= machine_isa()) return;
  constexpr char kText[] =
      "error: this program was compiled for a CPU with more instructions than this one has\n"
      "hint: build it on this machine, or with -DCORTADO_CPU_LEVELS=all, which builds programs for all CPU levels\n";
  if (write(STDERR_FILENO, kText, sizeof kText - 1) < 0) _exit(int(ExitCode::kIo));
  _exit(int(ExitCode::kDevice));
}

}  // namespace cortado

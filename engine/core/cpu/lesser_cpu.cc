// Compiled for every CPU of the architecture, as core/cpu/machine_isa.cc is, and linked into programs alone.
#include "core/cpu/lesser_cpu.h"

#include <unistd.h>

#include "core/cpu/isa_level.h"
#include "core/exit_code.h"

namespace cortado {

/// Before anything else of the program runs: values that are made before main() may need what the CPU lacks.
[[gnu::constructor(101)]] void end_on_lesser_cpus() {
  if (kCompiledIsa <= machine_isa()) return;
  constexpr char kText[] =
      "error: this program was compiled for a CPU with more instructions than this one has\n"
      "hint: build it here, or with -DCORTADO_CPU_LEVELS=all, which makes programs for every CPU\n";
  if (write(STDERR_FILENO, kText, sizeof kText - 1) < 0) _exit(int(ExitCode::kIo));
  _exit(int(ExitCode::kDevice));
}

}  // namespace cortado

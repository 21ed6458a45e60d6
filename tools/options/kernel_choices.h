#pragma once

// How commands choose kernels: from the cache of earlier choices, by measuring where a command runs long enough to be
// worth it, and as flags say.

#include <optional>
#include <string>

#include "core/context.h"
#include "kernels/kernel_cache.h"
#include "tools/options/flags.h"
#include "tools/output/progress.h"

namespace cortado::tools {

/// --deterministic and --no-winograd: for every command that runs nets.
std::vector<Flag> kernel_flags();
Flag tune_flag();  ///< --tune: measure_everything() is wanted

/// Gives `context` the choices of the cache file, unless flags say otherwise.
void remember_choices(const Arguments& arguments, Context& context);

/// Lets nets that are built from now on measure, unless --deterministic: for a second in all on the CPU, half a minute
/// on a GPU, which is told, with a progress line while this lives.
class Measuring {
 public:
  Measuring(const Arguments& arguments, Context& context);
  ~Measuring();
  Measuring(const Measuring&) = delete;
  Measuring& operator=(const Measuring&) = delete;

 private:
  kernels::KernelCache& cache_;
  std::optional<CountedProgress> progress_;
};

/// What --tune asks for: every candidate is measured, whatever the cache holds.
void measure_everything(Context& context);

/// Adds what was chosen to the cache file. A cache that cannot be written is no mistake: it is logged.
void save_choices(const Arguments& arguments, Context& context);

/// The cache file: $XDG_CACHE_HOME/cortado/choices.json, or under ~/.cache; "" where there is neither.
std::string choice_cache_path();

}  // namespace cortado::tools

#pragma once

// How commands choose kernels: by flags, from the cache of earlier choices, or by measurement in commands that run long
// enough.

#include <optional>
#include <string>

#include "core/context.h"
#include "kernels/kernel_cache.h"
#include "tools/options/flags.h"
#include "tools/output/progress.h"

namespace cortado::tools {

/// --deterministic, --no-winograd and --fast: for each command that runs nets.
std::vector<Flag> kernel_flags();
Flag tune_flag();  ///< --tune, for measure_everything()

/// Sets the choices of the cache file in `context`, unless flags forbid it.
void remember_choices(const Arguments& arguments, Context& context);

/// While an object lives, nets that are built measure their kernels, unless --deterministic is given: for a second in
/// total on the CPU, for half a minute on a GPU. This is logged, and a progress line shows it.
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

/// --tune: every candidate is measured, also those with a cached choice.
void measure_everything(Context& context);

/// Adds the choices to the cache file. A failed write is logged only.
void save_choices(const Arguments& arguments, Context& context);

/// The cache file: $XDG_CACHE_HOME/cortado/choices.json, or under ~/.cache. "" if neither variable is set.
std::string choice_cache_path();

}  // namespace cortado::tools

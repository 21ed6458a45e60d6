#pragma once

// Selection of implementations: an ordered list of candidates, best first. Each returns a prepared kernel or the reason
// for declining; the last one accepts everything. The choice depends only on the device and the request, never on
// timing, so it is reproducible. There are two lists: one for 32-bit floats and bfloat16 on the CPU, and one for
// devices. The last candidate of the latter (kernels/device/) supports every float type and runs anywhere.

#include <memory>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/error.h"
#include "core/tensor.h"

namespace cortado::kernels {

template <typename Kernel, typename Request>
struct Candidate {
  const char* name;
  /// Returns a prepared kernel, or null with the reason in `why`.
  std::unique_ptr<Kernel> (*make)(const Request& request, Context& context, std::string& why);
};

/// Whether the CPU's list applies to values of `dtype` in this context.
inline bool wants_cpu_candidates(const Context& context, DType dtype) {
  return context.device.is_cpu() && (dtype == DType::kF32 || dtype == DType::kBF16);
}

/// Whether the work is so small that it takes less time than waking a library's threads, above all on a busy machine.
/// An own loop is faster then.
inline bool is_small(int64_t elements) { return elements <= 1 << 16; }

/// Returns the kernel of the first candidate that accepts. `refused`, if not null, collects "name: reason; " of the
/// earlier ones.
template <typename Kernel, typename Request>
std::unique_ptr<Kernel> first_that_accepts(const std::vector<Candidate<Kernel, Request>>& candidates,
                                           const Request& request, Context& context, std::string* refused) {
  for (const auto& candidate : candidates) {
    std::string why;
    if (auto kernel = candidate.make(request, context, why)) return kernel;
    if (refused) *refused += std::string(candidate.name) + ": " + why + "; ";
  }
  throw_internal("no candidate accepts, not even the last");
}

}  // namespace cortado::kernels

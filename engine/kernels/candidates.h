#pragma once

// How a face of this folder chooses its implementation: an ordered list of candidates, best first. Each makes a
// prepared kernel or says why it cannot; the last one accepts everything. The choice depends on the device and the
// request alone, never on timing, so it is the same in every run. There are two lists: one for 32-bit floats and
// bfloat16 on the CPU, and one for devices, whose last candidate (kernels/device/) takes every float type and runs
// anywhere.

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
  /// A prepared kernel; or null, with the reason in `why`.
  std::unique_ptr<Kernel> (*make)(const Request& request, Context& context, std::string& why);
};

/// Which list: whether the candidates for the CPU take values of `dtype` in this context.
inline bool wants_cpu_candidates(const Context& context, DType dtype) {
  return context.device.is_cpu() && (dtype == DType::kF32 || dtype == DType::kBF16);
}

/// So few elements that they are done before a library's threads have met, above all on a busy machine: worth a loop of
/// our own.
inline bool is_small(int64_t elements) { return elements <= 1 << 16; }

/// The kernel of the first candidate that accepts. `refused`, when given, collects "name: reason; " of those before it.
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

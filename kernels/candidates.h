#pragma once

// How a face of this folder chooses its implementation: an ordered list of candidates, best first. Each makes a
// prepared kernel or says why it cannot; the last one accepts everything. The choice depends on the request alone,
// never on timing, so it is the same in every run.

#include <memory>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/error.h"

namespace cortado::kernels {

template <typename Kernel, typename Request>
struct Candidate {
  const char* name;
  /// A prepared kernel; or null, with the reason in `why`.
  std::unique_ptr<Kernel> (*make)(const Request& request, Context& context, std::string& why);
};

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

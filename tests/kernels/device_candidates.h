#pragma once

#include <string>
#include <vector>

#include "kernels/conv.h"

namespace cortado::kernels::testing {

/// device_conv_candidates(), and for libraries with many engines one candidate per rank among the first: the engine of
/// that rank for a request, fused or separate.
inline std::vector<ConvCandidate> device_candidates() {
  constexpr size_t kPlaces = 8;
  std::vector<ConvCandidate> list = device_conv_candidates();
  for (const ConvCandidate& library : device_conv_candidates())
    for (size_t place = 0; library.engines && place < kPlaces; ++place) {
      ConvCandidate engine = library;
      engine.name += " at place " + std::to_string(place);
      engine.engines = nullptr;
      engine.make = [all = library.engines, place](const ConvRequest& request, ConvDirection direction,
                                                   Context& context, std::string& why) -> std::unique_ptr<ConvKernel> {
        const auto ranked = all(request, direction, context, why);
        if (place >= ranked.size()) return why += ": no such place", nullptr;
        return ranked[place].make(request, direction, context, why);
      };
      list.push_back(engine);
    }
  return list;
}

}  // namespace cortado::kernels::testing

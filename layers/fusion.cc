#include "layers/fusion.h"

namespace cortado {

namespace {

std::vector<const FusionKind*>& kinds() {
  static std::vector<const FusionKind*> list;
  return list;
}

}  // namespace

RegisterFusion::RegisterFusion(const FusionKind& kind) {
  const auto place = std::ranges::find_if(kinds(), [&](const FusionKind* other) { return other->name > kind.name; });
  kinds().insert(place, &kind);
}

const std::vector<const FusionKind*>& all_fusion_kinds() { return kinds(); }

}  // namespace cortado

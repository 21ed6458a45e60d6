#pragma once

#include "layers/layer.h"

namespace cortado {

/// The needs that layers have in common whose backward reads x[0]: y may take x's memory where no backward follows, dx
/// dy's at any time.
inline LayerNeeds needs_of_x(const PrepareRequest& request) {
  LayerNeeds needs;
  needs.backward_reads_x = {true};
  needs.aliasing.y_may_overwrite_x = !request.backward;
  needs.aliasing.dx_may_overwrite_dy = true;
  return needs;
}

}  // namespace cortado

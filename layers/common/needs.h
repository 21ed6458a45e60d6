#pragma once

#include "layers/layer.h"

namespace cortado {

/// The common needs of layers whose backward reads x[0]: y may overwrite x without a backward, dx may always
/// overwrite dy.
inline LayerNeeds needs_of_x(const PrepareRequest& request) {
  LayerNeeds needs;
  needs.backward_reads_x = {true};
  needs.aliasing.y_may_overwrite_x = !request.backward;
  needs.aliasing.dx_may_overwrite_dy = true;
  return needs;
}

/// The needs of layers whose backward reads every x.
inline LayerNeeds needs_of_all_x(const PrepareRequest& request) {
  LayerNeeds needs;
  needs.backward_reads_x.assign(request.x.size(), true);
  return needs;
}

}  // namespace cortado

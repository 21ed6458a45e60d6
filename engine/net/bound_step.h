#pragma once

// What a Net keeps beside its plan: operands bound to memory, and the weights' memory.

#include <vector>

#include "graph/passes/passes.h"
#include "layers/common/weights/filler.h"
#include "net/derived_weights.h"
#include "net/net.h"

namespace cortado {

struct Net::BoundStep {
  graph::NodeId node = -1;
  graph::Call call = graph::Call::kForward;
  Layer* layer = nullptr;
  Operands io;
  const void* copy_from = nullptr;  ///< dy[0] is copied from here first
  size_t copy_bytes = 0;
  std::vector<size_t> complete;                    ///< params whose gradient is whole after this step
  std::shared_ptr<DerivedWeights::Entry> derived;  ///< null where the layer makes none
};

struct Net::WeightMemory {
  DeviceMemory w_arena, dw_arena;
  std::vector<float*> w, dw;  ///< per weight; dw null where it does not learn, in the net's arena where it is transient
  std::shared_ptr<DerivedWeights> derived;
  std::vector<bool> drawn;  ///< per weight: it has what its filler gave it, until a file or a caller sets it
};

}  // namespace cortado

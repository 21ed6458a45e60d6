#pragma once

// State of a Net in addition to its plan: operands bound to memory, and the weights' memory.

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
  const void* copy_from = nullptr;  ///< != null: dy[0] is first copied from here
  size_t copy_bytes = 0;
  std::vector<size_t> complete;                    ///< params whose gradient is complete after this step
  std::shared_ptr<DerivedWeights::Entry> derived;  ///< null if the layer derives no weights
};

struct Net::WeightMemory {
  DeviceMemory w_arena, dw_arena;
  std::vector<float*> w, dw;  ///< per weight; dw is null if it does not learn, in the net's arena if transient
  std::shared_ptr<DerivedWeights> derived;
  std::vector<bool> drawn;  ///< per weight: set by its filler, not yet by a file or a caller
};

}  // namespace cortado

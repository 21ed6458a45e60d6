#pragma once

#include <optional>

#include "graph/graph.h"
#include "layers/record_source.h"

namespace cortado {

/// Which top of which data layer a blob of labels is.
struct LabelOrigin {
  const graph::Node* node;
  int output;
  const RecordSource* source;
};

/// Where the value comes from, seen through layers that only show it in another shape; nothing where it is computed, or
/// read by a layer that has no records.
std::optional<LabelOrigin> origin_of(const graph::Graph& graph, graph::ValueId value);

}  // namespace cortado

#pragma once

// The input blobs of a net as the file declares them, and the same net with other input shapes.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/shape.h"
#include "graph/graph.h"
#include "layers/roles.h"
#include "proto/files/read_text.h"

namespace cortado {

/// The tops of Input and MemoryData layers in `state`, with the shapes in the file.
std::map<std::string, Shape> declared_inputs(const NetFile& file, const caffe::NetState& state);

/// The net with Input layers of these `shapes`, also in place of MemoryData layers. Layers with a top that is not in
/// `shapes` are unchanged.
std::shared_ptr<const NetFile> with_inputs(const std::shared_ptr<const NetFile>& file,
                                           const std::map<std::string, Shape>& shapes);

/// The data layer and top that a blob of labels comes from.
struct LabelOrigin {
  const graph::Node* node;
  int output;
  const RecordSource* source;
};

/// The origin of the value, through layers that only reshape it. Empty if the value is computed, or its layer reads no
/// records.
std::optional<LabelOrigin> origin_of(const graph::Graph& graph, graph::ValueId value);

}  // namespace cortado

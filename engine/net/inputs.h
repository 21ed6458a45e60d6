#pragma once

// The blobs of a net that its user fills, as the file declares them, and the same net for other shapes.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/shape.h"
#include "graph/graph.h"
#include "layers/roles.h"
#include "proto/files/read_text.h"

namespace cortado {

/// The blobs that Input and MemoryData layers make in `state`, with the shapes that the file gives.
std::map<std::string, Shape> declared_inputs(const NetFile& file, const caffe::NetState& state);

/// The net with Input layers that make `shapes`, also in the place of MemoryData layers; layers with a blob that is not
/// among them stay as they are.
std::shared_ptr<const NetFile> with_inputs(const std::shared_ptr<const NetFile>& file,
                                           const std::map<std::string, Shape>& shapes);

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

#pragma once

// Layers that the exporter writes as operators that the importer does not read, such as the search for boxes in
// DetectionOutput. The model's metadata has these layers, too, each with a checksum of its nodes, so that the importer
// can restore the layer. Where other programs have changed the nodes, it reads the nodes.

#include <vector>

#include "onnx/schema.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// The domain of the nodes that restore_layers() writes. Their operator is "Layer", and their attribute "layer" is the
/// serialized message.
constexpr const char* kLayerDomain = "cortado";

/// Adds the layers to the metadata of a finished model. Their bottoms and tops are the names of values.
void note_layers(onnx::ModelProto& model, const std::vector<caffe::LayerParameter>& layers);

/// Replaces the nodes of each layer in the metadata by one node, if they are unchanged.
void restore_layers(onnx::ModelProto& model);

}  // namespace cortado

#pragma once

// Tensors and nodes of a graph, for the passes that rewrite it.

#include <string>
#include <vector>

#include "onnx/schema.h"

namespace cortado::exporting {

/// The values of an initializer of 32-bit floats that GraphWriter wrote.
std::vector<float> floats_of(const onnx::TensorProto& tensor);

/// Appends a node with one result, named after it, and with one integer attribute or none.
void append_node(onnx::GraphProto& graph, const std::string& op, const std::vector<std::string>& inputs,
                 const std::string& output, const std::string& attribute = {}, int64_t value = 0);

}  // namespace cortado::exporting

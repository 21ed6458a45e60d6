#pragma once

// The element types of a model's values. Layers compute on floats, which are exact for integers up to 2^24. So a node
// that computes integers from integers is read only where floats yield the same.

#include <map>
#include <string>

#include "onnx/import/node_reader.h"

namespace cortado::importing {

/// onnx::TensorProto::DataType of values by name; those of unknown type are missing.
using ElementTypes = std::map<std::string, int>;

ElementTypes element_types(const onnx::GraphProto& graph);

bool is_integer_type(int type);

/// Throws Error if the node's result has this type, is computed from blobs, and would differ on floats.
void refuse_inexact_integers(const NodeReader& node, int type);

}  // namespace cortado::importing

#pragma once

#include <map>
#include <string>

#include "onnx/import/net_builder.h"

namespace cortado::importing {

/// The net that a model is, and its weights. `shapes`, by the names of inputs, fill in the extents that the model
/// leaves open; "" stands for an only input. Without them a batch that is open is 1. Throws Error: kIo where the file
/// cannot be read, kUsage where a shape is not one of the input's, kNet where the file is damaged or has what no layer
/// does, naming the node and its operator.
ImportedNet import_model(const std::string& path, const std::map<std::string, Shape>& shapes = {});

}  // namespace cortado::importing

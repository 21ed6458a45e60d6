#pragma once

#include <string>

#include "onnx/import/net_builder.h"

namespace cortado::importing {

/// The net that a model is, with a batch of 1 where the model leaves it open, and its weights. Throws Error: kIo where
/// the file cannot be read, kNet where it is damaged or has what no layer does, naming the node and its operator.
ImportedNet import_model(const std::string& path);

}  // namespace cortado::importing

#pragma once

// ONNX models in place of a net or weights. The program `cortado-onnx`, next to this one, reads them and sends the
// net's text and its weights through a pipe. Its output is checked here, and every failure is an Error about the model.

#include <string>
#include <vector>

#include "proto/weights/weights_file.h"

namespace cortado {

/// Whether the content is an ONNX model, or the name is that of one and the content of no other kind. Never throws.
bool is_onnx_file(const std::string& path);

/// The environment variable of cortado-onnx with the extents that models leave open, one a line: 1,C,H,W or
/// INPUT=1,C,H,W. Programs set it from --shape.
inline constexpr const char* kModelShapesVariable = "CORTADO_MODEL_SHAPES";

/// The model's net as a prototxt. Throws Error: kIo if it cannot be read or this build has no ONNX, kNet if it is
/// damaged or contains operators without a layer.
std::string read_onnx_net(const std::string& path);

/// Like read_weights().
std::vector<LayerWeights> read_onnx_weights(const std::string& path, std::string* digest = nullptr);

/// `weights`, or, if empty and the net was read from a model, that file, which has both.
std::vector<std::string> weights_or_own(const std::vector<std::string>& weights, const std::string& net);

}  // namespace cortado

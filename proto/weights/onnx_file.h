#pragma once

// ONNX models where a net or weights are wanted: the program `cortado-onnx` beside this one reads them and hands back
// the net's text and its weights through a pipe. What comes back is checked here, and whatever goes wrong is an Error
// about the model.

#include <string>
#include <vector>

#include "proto/weights/weights_file.h"

namespace cortado {

/// Whether the file is an ONNX model by its content, or is called one and is nothing else. Never throws.
bool is_onnx_file(const std::string& path);

/// The net that the model is, as a prototxt. Throws Error: kIo where it cannot be read or this build has no ONNX, kNet
/// where it is damaged or has what no layer does.
std::string read_onnx_net(const std::string& path);

/// Like read_weights().
std::vector<LayerWeights> read_onnx_weights(const std::string& path, std::string* digest = nullptr);

/// `weights`, or where there are none and the net was read from a model, that file: it holds both.
std::vector<std::string> weights_or_own(const std::vector<std::string>& weights, const std::string& net);

}  // namespace cortado

#pragma once

#include <map>
#include <string>

#include "core/exit_code.h"
#include "onnx/import/net_builder.h"

namespace cortado::importing {

/// The net that a model is, and its weights. `shapes`, by the names of inputs, fill in the extents that the model
/// leaves open; "" stands for an only input. Without them a batch that is open is 1. Throws Error: kIo where the file
/// cannot be read, kUsage where a shape is not one of the input's, kNet where the file is damaged or has what no layer
/// does, naming the node and its operator.
ImportedNet import_model(const std::string& path, const std::map<std::string, Shape>& shapes = {});

/// The net as a prototxt, which says what it was made from.
std::string text_of(const ImportedNet& net, const std::string& model);

/// Writes both files, each atomically. Throws Error(kIo).
void write_files(ImportedNet net, const std::string& model, const std::string& prototxt, const std::string& weights);

/// For a pipe, as proto/weights/onnx_file.h reads it. `wants_weights`: else the text alone.
void send(const ImportedNet& net, const std::string& model, bool wants_weights);

/// In its place, what was wrong.
void send_mistake(ExitCode code, const std::string& message, const std::string& hint);

}  // namespace cortado::importing

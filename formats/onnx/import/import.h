#pragma once

#include <map>
#include <string>

#include "core/exit_code.h"
#include "onnx/import/net_builder.h"
#include "proto/weights/write_weights.h"

namespace cortado::importing {

/// Imports a model as a net with its weights. Throws Error: kIo if the file cannot be read, kUsage if a shape does not
/// match the input or the net does not take the batch, kNet if the file is damaged or has an unsupported operator (with
/// the node's name).
ImportedNet import_model(const std::string& path, const ImportOptions& options);

/// The net as a prototxt, with the model's name in a comment.
std::string text_of(const ImportedNet& net, const std::string& model);

/// Writes both files, each atomically. Throws Error(kIo).
void write_files(ImportedNet net, const std::string& model, const std::string& prototxt, const std::string& weights,
                 const WeightsTarget& form);

/// Writes the net to standard output in the format of proto/weights/onnx_file.h; weights only with `wants_weights`.
void send(const ImportedNet& net, const std::string& model, bool wants_weights);

/// Writes an error instead of the net.
void send_mistake(ExitCode code, const std::string& message, const std::string& hint);

}  // namespace cortado::importing

#pragma once

#include <string>

#include "formats/wire.h"
#include "proto/weights/weights_file.h"

namespace cortado {

/// Reads a BlobProto of any dialect: packed or not, float, double or NVIDIA's raw bytes, with a shape or the four
/// extents of old. `what` names it in errors: "layer 'conv1', blob 0". `origin`, where given, is told how it was
/// stored.
BlobFile read_blob(const WireFile& file, std::string_view message, const std::string& what,
                   WeightsOrigin* origin = nullptr);

}  // namespace cortado

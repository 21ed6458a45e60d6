#pragma once

// ONNX's messages, in the namespace onnx. They are generated from the system's schema into the build folder; include
// them only through this header.

#include "onnx/onnx.pb.h"

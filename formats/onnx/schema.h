#pragma once

// ONNX's messages, in the namespace onnx. Generated from the system's schema into the build folder; this is the only
// place that names the file.

#include "onnx/onnx.pb.h"

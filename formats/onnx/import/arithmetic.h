#pragma once

#include "onnx/import/node_reader.h"

namespace cortado::importing {

/// x with a constant, repeated over the axes that it lacks or has an extent of 1 in: a factor, or a term. The node's
/// result. Throws Error where the constant cannot be brought to x's shape.
void finish_with_constant(NodeReader& node, const Blob& x, const Constant& constant, bool product);

}  // namespace cortado::importing

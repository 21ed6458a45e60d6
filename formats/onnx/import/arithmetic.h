#pragma once

#include "onnx/import/node_reader.h"

namespace cortado::importing {

// Sums and products of two operands, each broadcast to the shape of both. The functions return the last layer, which is
// not yet added. They throw Error if the operands cannot be broadcast.

Step combined(NodeReader& node, const Blob& x, const Constant& constant, bool product);
Step combined(NodeReader& node, const Blob& a, const Blob& b, bool product);
/// Input `i` and a blob.
Step combined_with_input(NodeReader& node, const Blob& x, size_t i, bool product);

/// Input 0 minus input 1, where one of them may be constant.
Step difference(NodeReader& node);

}  // namespace cortado::importing

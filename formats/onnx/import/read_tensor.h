#pragma once

#include <string_view>

#include "onnx/import/constant.h"
#include "onnx/import/node_reader.h"
#include "onnx/schema.h"

namespace cortado::importing {

/// The values of a tensor: of `raw`, where it has bytes or `only_raw`, else of its fields. Takes no more memory than
/// they do. Throws FieldError where they do not fill its shape or are of a type that no net has.
Constant read_tensor(const onnx::TensorProto& tensor, std::string_view raw, bool only_raw);

/// x with a constant, repeated over the axes that it lacks or has an extent of 1 in: a factor, or a term. The node's
/// result. Throws Error where the constant cannot be brought to x's shape.
void finish_with_constant(NodeReader& node, const Blob& x, const Constant& constant, bool product);

}  // namespace cortado::importing

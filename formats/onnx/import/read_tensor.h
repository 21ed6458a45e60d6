#pragma once

#include <string_view>

#include "onnx/import/constant.h"
#include "onnx/import/node_reader.h"
#include "onnx/schema.h"

namespace cortado::importing {

/// The values of a tensor: from `raw` if it is not empty or `only_raw` is set, else from its fields. Memory is bounded
/// by their size. Throws FieldError if they do not match the shape, or their type is not supported.
Constant read_tensor(const onnx::TensorProto& tensor, std::string_view raw, bool only_raw);

}  // namespace cortado::importing

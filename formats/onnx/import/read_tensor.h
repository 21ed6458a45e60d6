#pragma once

#include <string_view>

#include "onnx/import/constant.h"
#include "onnx/schema.h"

namespace cortado::importing {

/// The values of a tensor: of `raw`, where it has bytes or `only_raw`, else of its fields. Takes no more memory than
/// they do. Throws FieldError where they do not fill its shape or are of a type that no net has.
Constant read_tensor(const onnx::TensorProto& tensor, std::string_view raw, bool only_raw);

}  // namespace cortado::importing

#pragma once

#include <string>
#include <vector>

#include "core/tensor.h"

namespace cortado {

/// The type in which a net stores and multiplies values. Weights, their gradients and histories, statistics, losses and
/// accumulators are always 32-bit.
///   kFp32  32-bit values, full products
///   kTf32  32-bit values, products with a 10-bit mantissa (tensor cores)
///   kBf16  bfloat16 values: range of float, 8-bit mantissa
///   kFp16  binary16 values: 11-bit mantissa and a small range, so the loss is scaled
enum class Precision { kFp32, kTf32, kBf16, kFp16 };

std::string name_of(Precision precision);  ///< "fp32", "tf32", "bf16", "fp16"
/// All names, in enum order.
const std::vector<std::string>& precision_names();
/// Parses a name. Throws FieldError for the field "precision" if it is unknown.
Precision precision_named(const std::string& name);

/// The DType of stored values.
DType value_type(Precision precision);

}  // namespace cortado

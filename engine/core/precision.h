#pragma once

#include <string>
#include <vector>

#include "core/tensor.h"

namespace cortado {

/// What a net's values are stored and multiplied in. Weights, their gradients and histories, statistics and losses are
/// 32-bit in all of them, and sums run in 32 bits.
///   kFp32  32-bit values, full products
///   kTf32  32-bit values whose products keep 10 bits of mantissa (tensor cores)
///   kBf16  bfloat16 values: the range of floats, 8 bits of mantissa
///   kFp16  binary16 values: 11 bits of mantissa, little range, so the loss is scaled
enum class Precision { kFp32, kTf32, kBf16, kFp16 };

std::string name_of(Precision precision);  ///< "fp32", "tf32", "bf16", "fp16"
/// The names, in the order of the values.
const std::vector<std::string>& precision_names();
/// The precision of that name. Throws FieldError about the field "precision" for any other name.
Precision precision_named(const std::string& name);

/// The type of values.
DType value_type(Precision precision);

}  // namespace cortado

#include "core/precision.h"

namespace cortado {

namespace {

constexpr Precision kAll[] = {Precision::kFp32, Precision::kTf32, Precision::kBf16, Precision::kFp16};

}  // namespace

std::string name_of(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return "fp32";
    case Precision::kTf32:
      return "tf32";
    case Precision::kBf16:
      return "bf16";
    case Precision::kFp16:
      return "fp16";
  }
  return "?";
}

std::optional<Precision> precision_named(const std::string& name) {
  for (const Precision precision : kAll)
    if (name_of(precision) == name) return precision;
  return std::nullopt;
}

DType value_type(Precision precision) {
  return precision == Precision::kBf16 ? DType::kBF16 : precision == Precision::kFp16 ? DType::kF16 : DType::kF32;
}

}  // namespace cortado

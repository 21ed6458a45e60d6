#include "core/precision.h"

#include "core/error.h"

namespace cortado {

namespace {

constexpr Precision kPrecisionAll[] = {Precision::kFp32, Precision::kTf32, Precision::kBf16, Precision::kFp16};

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

const std::vector<std::string>& precision_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Precision precision : kPrecisionAll) list.push_back(name_of(precision));
    return list;
  }();
  return names;
}

Precision precision_named(const std::string& name) {
  for (const Precision precision : kPrecisionAll)
    if (name_of(precision) == name) return precision;
  throw FieldError("precision", "unknown precision \"" + name + "\"", "use fp32, tf32, bf16 or fp16");
}

DType value_type(Precision precision) {
  return precision == Precision::kBf16 ? DType::kBF16 : precision == Precision::kFp16 ? DType::kF16 : DType::kF32;
}

}  // namespace cortado

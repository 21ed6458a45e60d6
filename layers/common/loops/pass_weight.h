#pragma once

// A number that changes during training: max(least, base (1 + gamma n)^-power) in pass n, which is counted over the
// whole training. For .cu files.

#include <cmath>
#include <string>

#include "core/error.h"
#include "core/host_device.h"
#include "core/text/text.h"

namespace cortado {

namespace {

struct PassWeight {
  float base = 0, gamma = 0, power = 1, least = 0;
  float first = 1;  ///< n of the first pass

  CORTADO_HD float at(uint64_t pass) const {
    return fmaxf(least, base * powf(1 + gamma * (first + float(pass)), -power));
  }

  /// Throws FieldError(field + ".base" and so on) for numbers that are not finite or below 0.
  void check(const std::string& field) const {
    const std::pair<float, const char*> numbers[] = {
        {base, "base"}, {gamma, "gamma"}, {power, "power"}, {least, "lambda_min"}};
    for (const auto& [value, name] : numbers)
      if (!(value >= 0 && std::isfinite(value)))
        throw FieldError(field + "." + name, "it is " + to_text(value) + ", but must not be below 0");
  }
};

struct FindPassWeight {
  const uint64_t* pass;
  PassWeight rule;
  float* weight;
  CORTADO_HD void operator()(int64_t) const { *weight = rule.at(*pass); }
};

}  // namespace

}  // namespace cortado

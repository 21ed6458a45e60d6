#pragma once

#include <string>
#include <vector>

#include "tools/tuner/rate_finding.h"

namespace cortado::tools {

/// A rate to mark in the picture of a sweep.
struct RateMark {
  double rate;
  std::string label;
};

/// A page with the losses of a sweep over the rates, and the measurements as rows of name, value and meaning. `result`
/// is a sentence.
std::string tuning_page(const std::string& solver, const std::string& result, const RateSweep& sweep,
                        const std::vector<RateMark>& marks, const std::vector<std::vector<std::string>>& measured);

}  // namespace cortado::tools

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "proto/text/positions.h"

namespace cortado::tools {

/// A rate range test: the rate of each iteration, rising exponentially, and its loss.
struct RateSweep {
  std::vector<double> rates, losses;
  bool left = false;  ///< stopped early, because the loss diverged
};

/// The result of a sweep. Losses are smoothed by a running mean of weight 0.9 with bias correction.
struct RateFinding {
  double suggested = 0;  ///< the smaller of `steepest` and a quarter of `least`; 0: the loss did not fall
  double steepest = 0;   ///< the rate where the smoothed loss falls fastest per logarithm of the rate, after a tenth of
                         ///< its whole fall
  double least = 0;      ///< the rate of the lowest smoothed loss
  double diverged = 0;   ///< the rate where it exceeded three times its minimum or was not finite; 0: it did not
  double first_loss = 0, least_loss = 0;  ///< of the lowest rates; the lowest smoothed one
};

/// A fall of the loss by a smaller share is noise.
constexpr double kNoiseOfLoss = 0.01;

std::vector<double> smoothed(const std::vector<double>& losses);
RateFinding find_rate(const RateSweep& sweep);

/// The text of a solver with another base_lr, and `comments` (lines that begin with #) above it. Everything else is
/// unchanged. Adds a missing base_lr. `positions` are the text's.
std::string with_base_lr(std::string_view text, const Positions& positions, double rate, const std::string& comments);

}  // namespace cortado::tools

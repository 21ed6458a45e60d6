#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "proto/text/positions.h"

namespace cortado::tools {

/// What a rate range test saw: the rate of each iteration, rising evenly in its logarithm, and the loss it had.
struct RateSweep {
  std::vector<double> rates, losses;
  bool left = false;  ///< it ended early, for the loss had left
};

/// What follows from it. The losses are smoothed by a running mean of weight 0.9, freed of the bias of its start.
struct RateFinding {
  double suggested = 0;  ///< the smaller of `steepest` and a quarter of `least`; 0: the loss never fell
  double steepest = 0;   ///< where the smoothed loss falls fastest per logarithm of the rate
  double least = 0;      ///< where it is least
  double diverged = 0;   ///< where it passed three times its least value, or was no number; 0: nowhere
  double first_loss = 0, least_loss = 0;
};

std::vector<double> smoothed(const std::vector<double>& losses);
RateFinding find_rate(const RateSweep& sweep);

/// The text of a solver with another base_lr, everything else as its author wrote it, and `comments` (lines that begin
/// with #) above. Where it has no base_lr one is added. `positions` are the text's.
std::string with_base_lr(std::string_view text, const Positions& positions, double rate, const std::string& comments);

}  // namespace cortado::tools

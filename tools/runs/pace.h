#pragma once

#include <optional>

#include "solvers/observer.h"

namespace cortado::runs {

/// How fast a training goes now: means since the last time that somebody asked.
class Pace {
 public:
  struct Since {
    double images_per_second = 0;
    double data_wait = 0;  ///< the share of the time that was spent waiting for data
  };
  /// Since the last call, or the start; nothing where no images went by.
  std::optional<Since> now(const Progress& progress);

 private:
  Progress last_;
  bool is_known_ = false;
};

}  // namespace cortado::runs

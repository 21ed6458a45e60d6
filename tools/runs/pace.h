#pragma once

#include <optional>

#include "solvers/observer.h"

namespace cortado::runs {

/// The current speed of a training: means since the last call of now().
class Pace {
 public:
  struct Since {
    double images_per_second = 0;
    double data_wait = 0;  ///< share of the time spent waiting for data
  };
  /// Since the last call or the start; nothing if no images were read since.
  std::optional<Since> now(const Progress& progress);

 private:
  Progress last_;
  bool is_known_ = false;
};

}  // namespace cortado::runs

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace cortado::tools {

/// How often predictions of about the same confidence are right.
class Calibration {
 public:
  /// A prediction with its probability.
  void add(float confidence, bool right);

  /// {"error":..,"bins":[{"confidence":..,"accuracy":..,"count":..}]}. `error` is the expected calibration error: the
  /// mean of |accuracy - confidence| over all predictions, by bins.
  nlohmann::ordered_json json() const;

 private:
  struct Bin {
    int64_t count = 0;
    double right = 0, confidence = 0;  ///< sums
  };
  std::array<Bin, 15> bins_;
};

}  // namespace cortado::tools

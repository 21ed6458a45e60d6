#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace cortado::tools {

/// How often a net is right among answers that it gives with about the same confidence.
class Calibration {
 public:
  /// One answer: the probability that the net gives it.
  void add(float confidence, bool right);

  /// {"error":..,"bins":[{"confidence":..,"accuracy":..,"count":..}]}: the expected calibration error is the mean of
  /// |accuracy - confidence| over all answers, by bins.
  nlohmann::ordered_json json() const;

 private:
  struct Bin {
    int64_t count = 0;
    double right = 0, confidence = 0;  ///< sums
  };
  std::array<Bin, 15> bins_;
};

}  // namespace cortado::tools

#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/sample.h"

namespace cortado::data {

/// Images that a dataset is better without, or with one label: doubles of earlier ones, and those that are nearly
/// black.
struct OddImages {
  static constexpr size_t kMaxTold = 20;  ///< of each kind that are named

  struct Double {
    std::string name, first;                  ///< it, and the image that it equals pixel by pixel
    int32_t label, first_label;               ///< where they differ, one of the two is wrong
    bool tests = false, first_tests = false;  ///< they lie in the test set
  };

  int64_t doubles = 0;
  int64_t contradictions = 0;  ///< doubles with another label than the first
  int64_t leaks = 0;           ///< doubles of an image in the other set: testing asks for what training has seen
  int64_t dark = 0;
  std::vector<Double> told_doubles;
  std::vector<std::string> told_dark;

  bool any() const { return doubles > 0 || dark > 0; }
};

/// Looks at images one after the other. Keeps some 80 bytes of each, and its name.
class OddImageFinder {
 public:
  void look(const Sample& sample, const std::string& name, int32_t label, bool tests = false);
  const OddImages& found() const { return found_; }

 private:
  struct First {
    std::string name;
    int32_t label;
    bool tests;
  };

  std::unordered_map<uint64_t, First> firsts_;
  OddImages found_;
};

}  // namespace cortado::data

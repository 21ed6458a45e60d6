#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/sample.h"

namespace cortado::data {

/// Images that a dataset should not contain: duplicates of earlier ones, possibly with another label, and nearly black
/// ones.
struct OddImages {
  static constexpr int64_t kMaxListed = 20;  ///< maximum number of listed images of each kind

  struct Double {
    std::string name, first;     ///< the image, and the earlier one with the same pixels
    Label label, first_label;    ///< if they differ, one of them is wrong
    int set = 0, first_set = 0;  ///< the sets that they are in
  };

  int64_t doubles = 0;
  int64_t contradictions = 0;  ///< duplicates with another label than the first
  int64_t leaks = 0;           ///< duplicates of an image in another set: the test uses training images
  int64_t dark = 0;
  std::vector<Double> listed_doubles;  ///< the first of one set, and the first leaks
  std::vector<std::string> listed_dark;

  bool any() const { return doubles > 0 || dark > 0; }
};

/// Examines images one by one, of one or several sets. Stores about 80 bytes and the name of each.
class OddImageFinder {
 public:
  void look(const Sample& sample, const std::string& name, Label label, int set = 0);
  /// What was found since the last call. Images seen before still count as the first of duplicates.
  OddImages take() { return std::exchange(found_, {}); }

 private:
  struct First {
    std::string name;
    Label label;
    int set;
  };

  std::unordered_map<uint64_t, First> firsts_;
  OddImages found_;
};

}  // namespace cortado::data

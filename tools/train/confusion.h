#pragma once

// Confusion matrices: how often samples of each class were predicted as each class.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "layers/roles.h"
#include "net/net.h"

namespace cortado::tools {

class Confusion {
 public:
  struct Pair {
    int64_t truth, taken_for, count;
  };

  explicit Confusion(int64_t classes) : samples_(size_t(classes)), taken_(size_t(classes)), right_(size_t(classes)) {}

  /// `judged` as in PredictedClasses. Skips rows without a true class.
  void add(const std::vector<float>& judged);

  int64_t classes() const { return int64_t(samples_.size()); }
  int64_t samples() const;
  int64_t right() const;
  int64_t samples_of(int64_t c) const { return samples_[size_t(c)]; }
  int64_t taken_for(int64_t c) const { return taken_[size_t(c)]; }
  int64_t right_of(int64_t c) const { return right_[size_t(c)]; }
  int64_t count(int64_t truth, int64_t taken_for) const;
  /// Pairs of different classes that occurred, the most frequent first, equal ones in order of their classes.
  std::vector<Pair> mistaken() const;

 private:
  std::vector<int64_t> samples_, taken_, right_;
  std::unordered_map<int64_t, int64_t>
      counts_;  ///< by truth * classes + prediction; sparse, because most pairs of many classes never occur
};

/// Scores that a layer of the net compares with labels.
struct Classification {
  std::string layer, scores, labels;  ///< the names of the layer and its bottoms
  Confusion confusion;
};

/// Reads the predictions of layers that compare scores with labels, each pair of blobs once: of Accuracy and similar
/// layers, or of losses if the net has no such layer.
class ClassWatch {
 public:
  explicit ClassWatch(Net& net);
  size_t size() const { return judges_.size(); }
  std::vector<Classification> none_yet() const;  ///< one for each pair of blobs, without samples
  /// Adds the predictions of the latest forward() to `to`, which comes from none_yet() of this net or of the same net
  /// with another batch size.
  void add_to(std::vector<Classification>& to);

 private:
  struct Judge {
    const graph::Node* node;
    Scoring* scoring;
    int64_t classes;
  };
  void watch(bool losses);

  Net& net_;
  std::vector<Judge> judges_;
  std::vector<float> judged_;
};

}  // namespace cortado::tools

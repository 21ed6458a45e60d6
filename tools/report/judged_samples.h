#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "net/net.h"
#include "tools/report/calibration.h"
#include "tools/report/shown_image.h"

namespace cortado::tools {

/// The blobs of a classifier's scores and labels, and the layer that reads the data.
struct JudgedBlobs {
  std::string data, scores, labels;
  const caffe::LayerParameter* reader = nullptr;

  bool known() const { return reader && !scores.empty(); }
};
JudgedBlobs find_judged(const caffe::NetParameter& net, const caffe::NetState& state);

/// A sample with the net's prediction.
struct JudgedSample {
  float right;  ///< the probability of its class
  int64_t truth, number;
  std::vector<float> probabilities;
  std::string image;  ///< a data URI, or ""
};

/// The samples with the lowest, or the highest, probability of their class.
class Extremes {
 public:
  explicit Extremes(bool least) : least_(least) {}

  bool wants(float right) const { return samples_.size() < kShown || comes_first(right, samples_.back().right); }
  void add(const JudgedSample& sample) {
    const auto at = std::find_if(samples_.begin(), samples_.end(),
                                 [&](const JudgedSample& other) { return comes_first(sample.right, other.right); });
    samples_.insert(at, sample);
    if (samples_.size() > kShown) samples_.pop_back();
  }
  const std::vector<JudgedSample>& samples() const { return samples_; }

 private:
  static constexpr size_t kShown = 32;
  bool comes_first(float a, float b) const { return least_ ? a < b : a > b; }

  bool least_;
  std::vector<JudgedSample> samples_;
};

/// Collects a classifier's predictions of samples.
class JudgedSamples {
 public:
  JudgedSamples(const JudgedBlobs& judged, const Net& net);

  /// Whether each sample has one row of scores and one label.
  static bool fit(const JudgedBlobs& judged, const Net& net);

  /// Adds a batch, whose blobs the net keeps.
  void add_batch(const Net& net);
  /// Adds "calibration", "worst" and "best" (test_results.h). `names` of classes may be empty.
  void write(const std::vector<std::string>& names, nlohmann::ordered_json& to) const;

 private:
  const JudgedBlobs judged_;
  SampleImages images_;
  Calibration calibration_;
  Extremes worst_{true}, best_{false};  ///< of wrong predictions and of right ones
  int64_t number_ = 0;
};

}  // namespace cortado::tools

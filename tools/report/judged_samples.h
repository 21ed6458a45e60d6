#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "net/net.h"
#include "tools/report/calibration.h"
#include "tools/report/foremost.h"
#include "tools/report/shown_image.h"

namespace cortado::tools {

/// The blobs of a classifier's scores and labels, and the layer that reads the data.
struct JudgedBlobs {
  std::string data, scores, labels;
  const caffe::LayerParameter* reader = nullptr;

  bool known() const { return reader && !scores.empty(); }
};
JudgedBlobs find_judged(const caffe::NetParameter& net, const caffe::NetState& state);

/// A class with its probability.
struct Prediction {
  int64_t label;
  double probability;
};

/// A sample with the net's predictions.
struct JudgedSample {
  int64_t number, truth;
  double right;                     ///< the probability of its class
  std::vector<Prediction> guesses;  ///< the likeliest classes; the first is the prediction
  std::string image;                ///< a data URI, or ""
};

/// Collects a classifier's predictions of samples.
class JudgedSamples {
 public:
  JudgedSamples(const JudgedBlobs& judged, const Net& net);

  /// Whether each sample has one row of scores and one label.
  static bool fit(const JudgedBlobs& judged, const Net& net);

  /// Adds a batch, whose blobs the net keeps.
  void add_batch(const Net& net);

  /// Adds "calibration", "wrong":[{"record":..,"truth":..,"probability":..,"guesses":[[name,probability],..],
  /// "image":..}], the wrong predictions of the highest confidence, "unsure", the right ones of the lowest, and their
  /// totals, "wrong_total" and "right_total". "probability" is that of the true class. `names` of classes may be empty.
  void write(const std::vector<std::string>& names, nlohmann::ordered_json& to) const;

 private:
  static constexpr size_t kShown = 32;

  const JudgedBlobs judged_;
  SampleImages images_;
  Calibration calibration_;
  Foremost<JudgedSample> wrong_{kShown}, unsure_{kShown};
  int64_t number_ = 0, wrong_total_ = 0, right_total_ = 0;
};

}  // namespace cortado::tools

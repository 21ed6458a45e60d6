#pragma once

// Average precision of detections, from the rows of DetectionEvaluate (layers/types/detection_evaluate.cc).

#include <cstdint>
#include <string>
#include <vector>

namespace cortado {

/// Numbers in one row of DetectionEvaluate's output.
constexpr int64_t kJudgedWidth = 5;

/// How the area under the precision-recall curve is computed. The names are SSD's.
enum class ApVersion {
  kIntegral,     ///< the sum of precision times the increase of recall
  kMaxIntegral,  ///< the same, with the best precision at that recall or higher (PASCAL VOC since 2010)
  k11Point       ///< the mean of the best precisions at recall 0, 0.1 ... 1 or higher (PASCAL VOC 2007)
};

/// Parses "Integral", "MaxIntegral" or "11point". Throws FieldError("ap_version").
ApVersion ap_version_of(const std::string& name);

/// Precision and recall of the detections of a class whose score is at least some threshold.
struct PrecisionRecall {
  double precision, recall;
};

/// Counts the objects of each class and stores the detections.
class DetectionTally {
 public:
  explicit DetectionTally(int64_t classes) : objects_(size_t(classes)), detections_(size_t(classes)) {}

  void clear();
  /// Adds `count` rows of kJudgedWidth numbers; rows of zeros are ignored.
  void add(const float* rows, int64_t count);
  void add(const DetectionTally& other);
  /// pack() appends the tally to `words`. unpack() replaces this tally by a packed one and returns the end of its
  /// words.
  void pack(std::vector<double>& words) const;
  const double* unpack(const double* words);
  int64_t classes() const { return int64_t(objects_.size()); }
  bool has_objects(int64_t c) const { return objects_[size_t(c)] > 0; }
  double objects(int64_t c) const { return objects_[size_t(c)]; }
  /// One point per detection, in descending order of score; empty if the class has no objects.
  std::vector<PrecisionRecall> curve(int64_t c) const;
  double average_precision(int64_t c, ApVersion version) const;  ///< 0 if the class has no objects
  double mean(ApVersion version) const;  ///< over the classes that have objects; 0 if there are none

 private:
  struct Detection {
    float score;
    bool right;
  };
  std::vector<double> objects_;
  std::vector<std::vector<Detection>> detections_;
};

}  // namespace cortado

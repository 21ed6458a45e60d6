#pragma once

// Average precision of detections, from the rows of DetectionEvaluate (layers/types/detection_evaluate.cc).

#include <cstdint>
#include <string>
#include <vector>

namespace cortado {

/// Numbers of a row.
constexpr int64_t kJudgedWidth = 5;

/// How the area under the curve of precision over recall is taken, by SSD's names.
enum class ApVersion {
  kIntegral,     ///< the sum of precision times the gain of recall
  kMaxIntegral,  ///< the same with the best precision at that recall or more (PASCAL VOC since 2010)
  k11Point       ///< the mean of the best precisions at recall 0, 0.1 ... 1 or more (PASCAL VOC 2007)
};

/// Of "Integral", "MaxIntegral" or "11point". Throws FieldError("ap_version").
ApVersion ap_version_of(const std::string& name);

/// What a class's detections reach down to one of their scores.
struct PrecisionRecall {
  double precision, recall;
};

/// Counts the objects of each class, and keeps the detections.
class DetectionTally {
 public:
  explicit DetectionTally(int64_t classes) : objects_(size_t(classes)), detections_(size_t(classes)) {}

  void clear();
  /// `count` rows of five numbers; rows of zeros are none.
  void add(const float* rows, int64_t count);
  void add(const DetectionTally& other);
  /// As numbers, and those of another tally in place of this one's; returns what follows them.
  void pack(std::vector<double>& words) const;
  const double* unpack(const double* words);
  int64_t classes() const { return int64_t(objects_.size()); }
  bool has_objects(int64_t c) const { return objects_[size_t(c)] > 0; }
  double objects(int64_t c) const { return objects_[size_t(c)]; }
  /// From the surest detection on, one more each time; none where the class has no objects.
  std::vector<PrecisionRecall> curve(int64_t c) const;
  double average_precision(int64_t c, ApVersion version) const;  ///< 0 where the class has no objects
  double mean(ApVersion version) const;                          ///< over classes that have objects; 0: none has

 private:
  struct Detection {
    float score;
    bool right;
  };
  std::vector<double> objects_;
  std::vector<std::vector<Detection>> detections_;
};

}  // namespace cortado

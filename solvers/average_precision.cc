#include "solvers/average_precision.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace cortado {

namespace {

/// The mean of the best precisions at eleven recalls.
double eleven_points(const std::vector<PrecisionRecall>& curve) {
  double sum = 0;
  for (int k = 0; k <= 10; ++k) {
    double best = 0;
    for (const PrecisionRecall& point : curve)
      if (point.recall >= k / 10.0) best = std::max(best, point.precision);
    sum += best / 11;
  }
  return sum;
}

double integral(const std::vector<PrecisionRecall>& curve) {
  double sum = 0, recall = 0;
  for (const PrecisionRecall& point : curve) {
    sum += point.precision * (point.recall - recall);
    recall = point.recall;
  }
  return sum;
}

}  // namespace

ApVersion ap_version_of(const std::string& name) {
  if (name == "Integral") return ApVersion::kIntegral;
  if (name == "MaxIntegral") return ApVersion::kMaxIntegral;
  if (name == "11point") return ApVersion::k11Point;
  throw FieldError("ap_version", "unknown ap_version '" + name + "'", "use Integral, MaxIntegral or 11point");
}

void DetectionTally::clear() {
  std::fill(objects_.begin(), objects_.end(), 0.0);
  for (auto& of_class : detections_) of_class.clear();
}

void DetectionTally::add(const float* rows, int64_t count) {
  for (const float* row = rows; row != rows + count * kJudgedWidth; row += kJudgedWidth) {
    if (!(row[1] >= 0 && row[1] < float(classes()))) continue;
    if (row[0] < 0)
      objects_[size_t(row[1])] += double(row[2]);
    else if (row[3] != 0 || row[4] != 0)
      detections_[size_t(row[1])].push_back({row[2], row[3] != 0});
  }
}

void DetectionTally::pack(std::vector<double>& words) const {
  words.insert(words.end(), objects_.begin(), objects_.end());
  for (const auto& of_class : detections_) {
    words.push_back(double(of_class.size()));
    for (const Detection& detection : of_class) words.insert(words.end(), {detection.score, double(detection.right)});
  }
}

const double* DetectionTally::unpack(const double* words) {
  for (double& objects : objects_) objects = *words++;
  for (auto& of_class : detections_) {
    of_class.resize(size_t(*words++));
    for (Detection& detection : of_class) {
      detection = {float(words[0]), words[1] != 0};
      words += 2;
    }
  }
  return words;
}

void DetectionTally::add(const DetectionTally& other) {
  for (size_t c = 0; c < objects_.size(); ++c) {
    objects_[c] += other.objects_[c];
    detections_[c].insert(detections_[c].end(), other.detections_[c].begin(), other.detections_[c].end());
  }
}

std::vector<PrecisionRecall> DetectionTally::curve(int64_t c) const {
  std::vector<PrecisionRecall> curve;
  if (!has_objects(c)) return curve;
  std::vector<Detection> sorted = detections_[size_t(c)];
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Detection& a, const Detection& b) { return a.score > b.score; });
  double right = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    right += sorted[i].right ? 1 : 0;
    curve.push_back({right / double(i + 1), right / objects_[size_t(c)]});
  }
  return curve;
}

double DetectionTally::average_precision(int64_t c, ApVersion version) const {
  std::vector<PrecisionRecall> points = curve(c);
  if (version == ApVersion::k11Point) return eleven_points(points);
  if (version == ApVersion::kMaxIntegral)
    for (size_t i = points.size(); i-- > 1;)
      points[i - 1].precision = std::max(points[i - 1].precision, points[i].precision);
  return integral(points);
}

double DetectionTally::mean(ApVersion version) const {
  double sum = 0;
  int64_t counted = 0;
  for (int64_t c = 0; c < classes(); ++c) {
    if (!has_objects(c)) continue;
    sum += average_precision(c, version);
    ++counted;
  }
  return counted > 0 ? sum / double(counted) : 0;
}

}  // namespace cortado

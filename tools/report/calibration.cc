#include "tools/report/calibration.h"

#include <algorithm>
#include <cmath>

namespace cortado::tools {

void Calibration::add(float confidence, bool right) {
  Bin& bin = bins_[std::min(bins_.size() - 1, size_t(confidence * float(bins_.size())))];
  ++bin.count;
  bin.right += right;
  bin.confidence += confidence;
}

nlohmann::ordered_json Calibration::json() const {
  auto bins = nlohmann::ordered_json::array();
  double error = 0, samples = 0;
  for (const Bin& bin : bins_) samples += double(bin.count);
  for (const Bin& bin : bins_) {
    const double n = double(bin.count), confidence = n > 0 ? bin.confidence / n : 0,
                 accuracy = n > 0 ? bin.right / n : 0;
    error += n * std::abs(accuracy - confidence) / std::max(1.0, samples);
    bins.push_back({{"confidence", confidence}, {"accuracy", accuracy}, {"count", bin.count}});
  }
  return {{"error", error}, {"bins", bins}};
}

}  // namespace cortado::tools

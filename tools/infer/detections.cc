#include "tools/infer/detections.h"

#include <algorithm>

namespace cortado::tools {

std::vector<Found> objects_in(const std::vector<float>& rows, float threshold) {
  std::vector<Found> found;
  for (size_t i = 0; i + kDetectionRow <= rows.size(); i += kDetectionRow) {
    const float* row = rows.data() + i;
    if (row[1] >= 0 && row[2] >= threshold && row[2] > 0)
      found.push_back({int(row[1]), row[2], clipped({row[3], row[4], row[5], row[6]})});
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.score > b.score; });
  return found;
}

}  // namespace cortado::tools

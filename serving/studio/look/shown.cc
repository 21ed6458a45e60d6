// Values of a blob or of weights for the page: statistics, a histogram, and a picture of planes.
#include "studio/look/shown.h"

#include <algorithm>
#include <cmath>

#include "core/text/text.h"
#include "studio/look/tiles.h"

namespace cortado::studio {

namespace {

constexpr int kBins = 40;
constexpr size_t kMaxValues = 1000;

Json histogram(const std::vector<float>& values, double low, double high) {
  if (!(high > low)) high = low + 1;
  std::vector<int64_t> counts(kBins);
  for (const float value : values)
    if (std::isfinite(value))
      ++counts[size_t(std::clamp(int((double(value) - low) / (high - low) * kBins), 0, kBins - 1))];
  std::vector<double> edges;
  for (int i = 0; i <= kBins; ++i) edges.push_back(low + (high - low) * i / kBins);
  return {{"edges", edges}, {"counts", counts}};
}

Json picture(const Tiles& tiles) {
  return {{"png", base64(tiles.png)},
          {"width", tiles.width},
          {"height", tiles.height},
          {"planes", tiles.planes},
          {"shown", tiles.shown}};
}

}  // namespace

Json shown(const std::string& name, const Shape& shape, const std::vector<float>& values, Kind kind) {
  double low = 0, high = 0, sum = 0;
  int64_t finite = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    low = finite ? std::min(low, double(value)) : double(value);
    high = finite ? std::max(high, double(value)) : double(value);
    sum += double(value);
    ++finite;
  }
  Json json = {{"name", name},
               {"shape", shape.dims()},
               {"least", low},
               {"most", high},
               {"mean", finite ? sum / double(finite) : 0},
               {"not_finite", int64_t(values.size()) - finite},
               {"histogram", histogram(values, low, high)}};
  if (shape.axes() == 4 && shape[2] * shape[3] > 1)
    json["picture"] = picture(kind == Kind::kFilters ? filter_tiles(shape, values) : activation_tiles(shape, values));
  else
    json["values"] = std::vector<float>(values.begin(), values.begin() + int64_t(std::min(values.size(), kMaxValues)));
  return json;
}

}  // namespace cortado::studio

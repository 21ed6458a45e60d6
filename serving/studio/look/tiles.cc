#include "studio/look/tiles.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "data/image/png.h"
#include "data/image/tile_sheet.h"

namespace cortado::studio {

namespace {

constexpr int64_t kMaxPlanes = 256, kGap = 2, kLeastSide = 20, kWanted = 56;
constexpr std::array<uint8_t, 3> kBetween = {173, 92, 11};  // blue, to contrast with gray planes

/// The number of columns: slightly wider than high, with the fewest empty cells.
int64_t columns_for(int64_t planes) {
  const int64_t ideal = std::llround(std::ceil(std::sqrt(double(planes) * 1.6)));
  const auto empty = [&](int64_t columns) { return (columns - planes % columns) % columns; };
  int64_t best = ideal;
  for (int64_t columns = std::max<int64_t>(1, ideal * 2 / 3); columns <= ideal * 5 / 3; ++columns)
    if (empty(columns) < empty(best)) best = columns;
  return best;
}

/// The layout of planes of this size: a grid of columns_for() columns, or of a given number.
struct Grid {
  Grid(int64_t planes, int64_t height, int64_t width, int64_t wanted_columns = 0)
      : shown(std::min(planes, kMaxPlanes)),
        factor(std::max<int64_t>(1, (kWanted + std::max(height, width) - 1) / std::max(height, width))) {
    if (std::max(height, width) >= kLeastSide * 2) factor = 1;
    const int64_t columns = wanted_columns > 0 ? wanted_columns : columns_for(shown);
    sheet = {height * factor, width * factor, shown, columns, kGap, kGap, {}};
    sheet.resize(3);
    for (size_t i = 0; i < sheet.image.pixels.size(); ++i) sheet.image.pixels[i] = kBetween[i % 3];
  }

  /// Paints a plane; `colour(y, x, c)` is in [0, 1].
  template <typename Colour>
  void paint(int64_t plane, const Colour& colour) {
    sheet.paint(plane, [&](int64_t c, int64_t y, int64_t x) {
      return uint8_t(std::lround(255 * std::clamp(colour(y / factor, x / factor, c), 0.0f, 1.0f)));
    });
  }

  Tiles tiles(int64_t planes) const {
    return {data::encode_png(sheet.image), planes, shown, sheet.image.width, sheet.image.height};
  }

  int64_t shown, factor;
  data::TileSheet sheet;
};

float finite(float value) { return std::isfinite(value) ? value : 0; }

}  // namespace

Tiles activation_tiles(const Shape& shape, const std::vector<float>& values) {
  const int64_t planes = shape[1], height = shape[2], width = shape[3];
  float low = 0, high = 0;
  for (const float value : values) {
    low = std::min(low, finite(value));
    high = std::max(high, finite(value));
  }
  const float span = high > low ? high - low : 1;
  Grid grid(planes, height, width);
  for (int64_t plane = 0; plane < grid.shown; ++plane)
    grid.paint(plane, [&](int64_t y, int64_t x, int64_t) {
      return (finite(values[size_t((plane * height + y) * width + x)]) - low) / span;
    });
  return grid.tiles(planes);
}

Tiles filter_tiles(const Shape& shape, const std::vector<float>& values) {
  const int64_t outputs = shape[0], inputs = shape[1], height = shape[2], width = shape[3];
  const bool is_coloured = inputs == 3;
  const int64_t planes = is_coloured ? outputs : outputs * inputs;
  float most = 1e-30f;
  for (const float value : values) most = std::max(most, std::abs(finite(value)));
  Grid grid(planes, height, width, is_coloured || inputs == 1 || inputs > 32 ? 0 : inputs);
  for (int64_t plane = 0; plane < grid.shown; ++plane)
    grid.paint(plane, [&](int64_t y, int64_t x, int64_t c) {
      const int64_t from = is_coloured ? plane * 3 + c : plane;
      return 0.5f + 0.5f * finite(values[size_t((from * height + y) * width + x)]) / most;
    });
  return grid.tiles(planes);
}

}  // namespace cortado::studio

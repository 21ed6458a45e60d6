#pragma once

#include "data/image/image.h"

namespace cortado::data {

/// An image of equally sized tiles in rows of `columns`, with `gap` pixels between them and `edge` pixels around them.
struct TileSheet {
  int64_t height, width, count, columns, gap, edge;  ///< the first two are the size of a tile
  Image image;

  void resize(int64_t channels) {
    const int64_t rows = (count + columns - 1) / columns;
    image.resize(int(channels), int(rows * (height + gap) - gap + 2 * edge),
                 int(columns * (width + gap) - gap + 2 * edge));
  }

  /// `level(c, y, x)` is the byte at a position of the tile.
  template <typename Level>
  void paint(int64_t tile, const Level& level) {
    const int64_t top = tile / columns * (height + gap) + edge, left = tile % columns * (width + gap) + edge;
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x)
        for (int64_t c = 0; c < image.channels; ++c)
          image.pixels[size_t(((top + y) * image.width + left + x) * image.channels + c)] = level(c, y, x);
  }
};

}  // namespace cortado::data

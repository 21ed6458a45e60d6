#pragma once

#include <string>

#include "tools/picture/blocks.h"
#include "tools/picture/scene.h"

namespace cortado::tools {

/// Self-contained SVG, which follows the page's light or dark mode.
std::string to_svg(const Scene& scene);

/// The content of a PNG file. Throws Error(kUsage) if the picture would be too large to be legible.
std::string to_png(const Scene& scene);

/// For Graphviz. `across`: ranks are arranged from left to right.
std::string to_dot(const NetPicture& picture, bool across);

/// Blocks and edges as JSON.
std::string to_json(const NetPicture& picture);

/// A family's name in the legend, and its colours ("#rrggbb") on light and on dark pages.
struct FamilyStyle {
  const char *name, *id;
  const char *fill, *line, *dark_fill, *dark_line;
};
const FamilyStyle& style_of(LayerFamily family);

/// Colours of everything except layers: "#rrggbb" on light and on dark pages.
struct Ink {
  const char *light, *dark;
};
constexpr Ink kInk = {"#1d2430", "#e9edf3"}, kMutedInk = {"#566172", "#a9b3c1"}, kEdgeInk = {"#8b95a5", "#7d8899"},
              kPage = {"#ffffff", "#14171c"};

/// "64x20x24x24 · 520 params": the shapes of a block's tops, with names for several, and its number of weights.
std::string facts_of(const Block& block);

/// "TRAIN · 9 layers · 431 080 params · 4.6 MFLOP forward".
std::string headline_of(const NetPicture& picture);

}  // namespace cortado::tools

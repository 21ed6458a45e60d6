#pragma once

#include <string>

#include "tools/picture/blocks.h"
#include "tools/picture/scene.h"

namespace cortado::tools {

/// Self-contained SVG that follows the reader's choice of a light or dark page.
std::string to_svg(const Scene& scene);

/// A PNG file's content. Throws Error(kUsage) where the picture would be too large to be legible.
std::string to_png(const Scene& scene);

/// For Graphviz. `across`: ranks run from left to right.
std::string to_dot(const NetPicture& picture, bool across);

/// Blocks and edges for programs.
std::string to_json(const NetPicture& picture);

/// A family's name as the legend has it, and its colours ("#rrggbb") on light pages and on dark ones.
struct FamilyStyle {
  const char *name, *id;
  const char *fill, *line, *dark_fill, *dark_line;
};
const FamilyStyle& style_of(LayerFamily family);

/// Of what is no layer: "#rrggbb" on light pages and on dark ones.
struct Ink {
  const char *light, *dark;
};
constexpr Ink kInk = {"#1d2430", "#e9edf3"}, kMutedInk = {"#566172", "#a9b3c1"}, kEdgeInk = {"#8b95a5", "#7d8899"},
              kPage = {"#ffffff", "#14171c"};

/// "64x20x24x24 · 520 params": the blobs that a block makes, by name where there are several, and its weights.
std::string facts_of(const Block& block);

/// "TRAIN · 9 layers · 431 080 params · 4.6 MFLOP forward".
std::string headline_of(const NetPicture& picture);

}  // namespace cortado::tools

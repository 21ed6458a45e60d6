#pragma once

// The picture of a net as shapes on a page, in pixels of the SVG. All formats draw these.

#include <string>
#include <vector>

#include "tools/canvas/canvas.h"
#include "tools/picture/blocks.h"

namespace cortado::tools {

enum class TextKind { kTitle, kHeadline, kKey, kName, kCaption, kFacts, kChip };

struct TextStyle {
  const char* id;
  double size;
  bool bold, begins;  ///< begins: x is the text's left end, else its middle
  bool muted;
};
const TextStyle& style_of(TextKind kind);

struct SceneText {
  TextKind kind;
  double x, y;  ///< y of the baseline
  std::string text;
  double width;  ///< in Helvetica
};

struct SceneBox {
  LayerFamily family;
  double x, y, width, height, radius;
  bool small;  ///< a chip or mark, with a thinner line
};

/// Groups of four points: each is a cubic Bezier curve, which begins at the end of the last one.
using SceneCurve = std::vector<Point>;

/// Shapes that belong together, and their tooltip. An edge has only a curve.
struct SceneGroup {
  std::vector<std::string> about;
  std::vector<SceneBox> boxes;
  std::vector<SceneText> texts;
  SceneCurve edge;
};

struct Scene {
  std::string title;
  double width = 0, height = 0;
  SceneGroup legend;
  std::vector<SceneGroup> groups;  ///< edges first, below the others
};

constexpr double kBoxLine = 1.3, kSmallLine = 0.8, kEdgeLine = 1.5;

/// `across`: ranks are arranged from left to right. Blobs from data layers to blocks far below become small marks.
Scene make_scene(const NetPicture& picture, bool across);

}  // namespace cortado::tools

#pragma once

// A net's picture as shapes on a page, in pixels of the SVG: what every format shows.

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
  double width;  ///< that it takes in Helvetica
};

struct SceneBox {
  LayerFamily family;
  double x, y, width, height, radius;
  bool small;  ///< a chip or mark, with a thinner line
};

/// Points in fours: a cubic Bezier each, which begins where the last one ends.
using SceneCurve = std::vector<Point>;

/// What belongs together, and what to say of it to a pointer. An edge has a curve and nothing else.
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
  std::vector<SceneGroup> groups;  ///< edges first: they lie below
};

constexpr double kBoxLine = 1.3, kSmallLine = 0.8, kEdgeLine = 1.5;

/// `across`: ranks run from left to right. What data layers hand to blocks far below is a small mark beside these.
Scene make_scene(const NetPicture& picture, bool across);

}  // namespace cortado::tools

#pragma once

#include <string>
#include <vector>

#include "tools/picture/blocks.h"

namespace cortado::tools {

// Font sizes in a box, and a chip's height.
constexpr double kName = 13, kBody = 11, kFacts = 10, kChip = 9.5, kChipHeight = 15;

/// A layer that is stacked on the block's first layer. Positions are relative to the box's upper left corner.
struct Chip {
  std::string text;
  LayerFamily family;
  double x = 0, y = 0, width = 0;
};

/// The contents of a block, and their positions; y of text is its baseline.
struct Box {
  std::string name, caption, facts;
  LayerFamily family = LayerFamily::kOther;
  std::vector<Chip> chips;
  double width = 0, height = 0;
  double name_y = 0, caption_y = 0, facts_y = 0;
};

Box make_box(const Block& block);

}  // namespace cortado::tools

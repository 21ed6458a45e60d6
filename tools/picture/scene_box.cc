#include "tools/picture/scene_box.h"

#include <algorithm>

#include "tools/picture/caption.h"
#include "tools/picture/render.h"
#include "tools/picture/text_width.h"

namespace cortado::tools {

namespace {

constexpr double kPad = 11, kChipGap = 4, kMaxText = 290;

/// Places rows of centred chips, no wider than `room`. Returns their height.
double place_chips(std::vector<Chip>& chips, double top, double room, double width) {
  double y = top;
  for (size_t first = 0; first < chips.size();) {
    size_t end = first;
    double row = 0;
    while (end < chips.size() && (end == first || row + kChipGap + chips[end].width <= room)) {
      row += (end > first ? kChipGap : 0) + chips[end].width;
      ++end;
    }
    double x = (width - row) / 2;
    for (; first < end; ++first) {
      chips[first].x = x;
      chips[first].y = y;
      x += chips[first].width + kChipGap;
    }
    y += kChipHeight + kChipGap;
  }
  return y - top;
}

}  // namespace

Box make_box(const Block& block) {
  Box box;
  const caffe::LayerParameter& first = *block.layers[0];
  box.family = drawn_family(first.type());
  box.name = fitted(first.name(), kMaxText, kName, true);
  box.caption = fitted(caption_of(first), kMaxText, kBody);
  box.facts = fitted(facts_of(block), kMaxText + 60, kFacts);
  double widest =
      std::max({text_room(box.name, kName, true), text_room(box.caption, kBody), text_room(box.facts, kFacts), 50.0});
  double row = 0;
  for (size_t i = 1; i < block.layers.size(); ++i) {
    const std::string text = fitted(block.layers[i]->type(), kMaxText - 12, kChip);
    box.chips.push_back({text, drawn_family(block.layers[i]->type()), 0, 0, text_room(text, kChip) + 12});
    row += (i > 1 ? kChipGap : 0) + box.chips.back().width;
    widest = std::max(widest, std::min(row, kMaxText));
  }
  box.width = widest + 2 * kPad;
  double y = 8;
  box.name_y = (y += kName) - 1.5;
  box.caption_y = (y += kBody + 4) - 1.5;
  y += 6;
  y += place_chips(box.chips, y, widest, box.width);
  if (!box.facts.empty()) box.facts_y = (y += kFacts + 1) - 1.5;
  box.height = y + 7;
  return box;
}

}  // namespace cortado::tools

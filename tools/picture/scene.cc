// The layout of a page. Texts have space for the widest of the common sans serif fonts. Blobs from data layers to
// blocks far below, usually labels, become a small mark next to these blocks: lines past the whole net would make it
// too wide.
#include "tools/picture/scene.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "tools/output/terminal.h"
#include "tools/picture/caption.h"
#include "tools/picture/layout.h"
#include "tools/picture/ranks.h"
#include "tools/picture/render.h"
#include "tools/picture/scene_box.h"
#include "tools/picture/text_width.h"

namespace cortado::tools {

namespace {

constexpr double kMargin = 28, kMarkHeight = 20, kLeastWidth = 430;
constexpr int kFar = 9;          // ranks
constexpr double kShort = 0.01;  // shorter pieces of an edge would leave an arrow's head without direction

/// A mark that replaces an edge.
struct Mark {
  int edge = 0;
  std::string text;
  double width = 0;
};

std::vector<std::string> about_block(const Block& block) {
  std::vector<std::string> lines;
  for (const caffe::LayerParameter* layer : block.layers) {
    lines.push_back(layer->name() + ": " + layer->type());
    std::istringstream options(options_text(*layer));
    for (std::string line; std::getline(options, line);) lines.push_back("  " + line);
  }
  for (const PictureBlob& top : block.tops)
    lines.push_back("top " + top.name + (top.shape.empty() ? "" : " " + top.shape));
  if (block.params > 0) lines.push_back(count_text(block.params) + " params");
  if (block.flops > 0) lines.push_back(number_text("%.4g", double(block.flops) / 1e6) + " MFLOP forward");
  return lines;
}

std::string about_blob(const PictureBlob& blob) { return blob.name + (blob.shape.empty() ? "" : " " + blob.shape); }

void add_text(SceneGroup& group, TextKind kind, double x, double y, const std::string& text) {
  const TextStyle& style = style_of(kind);
  if (!text.empty()) group.texts.push_back({kind, x, y, text, text_width(text, style.size, style.bold)});
}

class SceneMaker {
 public:
  SceneMaker(const NetPicture& picture, bool across) : picture_(picture), across_(across) {
    for (const Block& block : picture.blocks) boxes_.push_back(make_box(block));
    std::vector<Extent> nodes;
    for (const Box& box : boxes_) nodes.push_back(extent(box.width, box.height));
    for (const BlockEdge& edge : picture.edges) links_.push_back({edge.from, edge.to, edge.blob});
    replace_far_links(nodes);
    Spacing spacing;
    if (across) spacing = {18, 12, 44};
    drawing_ = lay_out(nodes, links_, spacing);
  }

  Scene make() {
    constexpr double kTitle = 20, kMaxTitle = 700;
    scene_.title = picture_.name.empty() ? "net" : fitted(picture_.name, kMaxTitle, kTitle, true);
    const double drawn = across_ ? drawing_.size.along : drawing_.size.across;
    const double inner = std::max({drawn, kLeastWidth, text_room(scene_.title, kTitle, true)});
    add_legend(inner);
    left_ = kMargin + (inner - drawn) / 2;
    scene_.width = inner + 2 * kMargin;
    scene_.height = top_ + (across_ ? drawing_.size.across : drawing_.size.along) + kMargin;
    for (size_t i = 0; i < picture_.edges.size(); ++i) add_edge(i);
    for (size_t i = 0; i < boxes_.size(); ++i) add_block(i);
    for (size_t i = 0; i < marks_.size(); ++i) add_mark(i);
    return std::move(scene_);
  }

 private:
  Extent extent(double width, double height) const { return across_ ? Extent{height, width} : Extent{width, height}; }

  /// Adds a node for each mark, and starts the link there.
  void replace_far_links(std::vector<Extent>& nodes) {
    const std::vector<int> ranks = ranks_of(nodes.size(), links_);
    for (size_t i = 0; i < links_.size(); ++i) {
      const Link& link = links_[i];
      if (drawn_family(picture_.blocks[size_t(link.from)].layers[0]->type()) != LayerFamily::kData) continue;
      if (ranks[size_t(link.to)] - ranks[size_t(link.from)] < kFar) continue;
      const std::string text = fitted(picture_.blobs[size_t(link.port)].name, 140, kFacts);
      marks_.push_back({int(i), text, text_room(text, kFacts) + 18});
    }
    std::vector<Extent> all;  // marks first, because links go from earlier to later nodes
    for (const Mark& mark : marks_) all.push_back(extent(mark.width, kMarkHeight));
    all.insert(all.end(), nodes.begin(), nodes.end());
    for (Link& link : links_) {
      link.from += int(marks_.size());
      link.to += int(marks_.size());
    }
    for (size_t i = 0; i < marks_.size(); ++i) links_[size_t(marks_[i].edge)].from = int(i);
    nodes = std::move(all);
  }

  /// Adds the title, the headline and the families of the net, in rows of `width`.
  void add_legend(double width) {
    SceneGroup& legend = scene_.legend;
    add_text(legend, TextKind::kTitle, kMargin, kMargin + 16, scene_.title);
    add_text(legend, TextKind::kHeadline, kMargin, kMargin + 37,
             fitted(headline_of(picture_), width, style_of(TextKind::kHeadline).size));
    std::set<LayerFamily> families;
    for (const Block& block : picture_.blocks)
      for (const caffe::LayerParameter* layer : block.layers) families.insert(drawn_family(layer->type()));
    double x = kMargin, y = kMargin + 52;
    for (const LayerFamily family : families) {
      const char* name = style_of(family).name;
      const double step = text_room(name, style_of(TextKind::kKey).size) + 36;
      if (x > kMargin && x + step - 18 > kMargin + width) {
        x = kMargin;
        y += 20;
      }
      legend.boxes.push_back({family, x, y, 13, 13, 3.5, true});
      add_text(legend, TextKind::kKey, x + 18, y + 10.3, name);
      x += step;
    }
    top_ = y + 13 + 26;
  }

  Point on_page(const Extent& at) const {
    return across_ ? Point{left_ + at.along, top_ + at.across} : Point{left_ + at.across, top_ + at.along};
  }

  void add_edge(size_t index) {
    const BlockEdge& edge = picture_.edges[index];
    const std::vector<Extent>& route = drawing_.routes[index];
    SceneGroup& group = scene_.groups.emplace_back();
    group.about = {about_blob(picture_.blobs[size_t(edge.blob)])};
    for (size_t i = 0; i < route.size(); i += 2) {
      if (i > 0) {
        const double middle = (route[i - 1].along + route[i].along) / 2;
        for (const Extent& at :
             {route[i - 1], Extent{route[i - 1].across, middle}, Extent{route[i].across, middle}, route[i]})
          group.edge.push_back(on_page(at));
      }
      if (route[i + 1].along - route[i].along > kShort)
        for (const Extent& at : {route[i], route[i], route[i + 1], route[i + 1]}) group.edge.push_back(on_page(at));
    }
  }

  void add_mark(size_t index) {
    const Mark& mark = marks_[index];
    const BlockEdge& edge = picture_.edges[size_t(mark.edge)];
    const Point centre = on_page(drawing_.centres[index]);
    SceneGroup& group = scene_.groups.emplace_back();
    group.about = {about_blob(picture_.blobs[size_t(edge.blob)]),
                   "top of " + picture_.blocks[size_t(edge.from)].layers[0]->name()};
    group.boxes.push_back({LayerFamily::kData, centre.x - mark.width / 2, centre.y - kMarkHeight / 2, mark.width,
                           kMarkHeight, kMarkHeight / 2, true});
    add_text(group, TextKind::kFacts, centre.x, centre.y + 3.6, mark.text);
  }

  void add_block(size_t index) {
    const Box& box = boxes_[index];
    const Point centre = on_page(drawing_.centres[marks_.size() + index]);
    const double x = centre.x - box.width / 2, y = centre.y - box.height / 2;
    SceneGroup& group = scene_.groups.emplace_back();
    group.about = about_block(picture_.blocks[index]);
    group.boxes.push_back({box.family, x, y, box.width, box.height, 8, false});
    add_text(group, TextKind::kName, centre.x, y + box.name_y, box.name);
    add_text(group, TextKind::kCaption, centre.x, y + box.caption_y, box.caption);
    for (const Chip& chip : box.chips) {
      group.boxes.push_back({chip.family, x + chip.x, y + chip.y, chip.width, kChipHeight, 4, true});
      add_text(group, TextKind::kChip, x + chip.x + chip.width / 2, y + chip.y + 11, chip.text);
    }
    add_text(group, TextKind::kFacts, centre.x, y + box.facts_y, box.facts);
  }

  const NetPicture& picture_;
  bool across_;
  std::vector<Box> boxes_;
  std::vector<Link> links_;  ///< of the edges; nodes are marks, then blocks
  std::vector<Mark> marks_;
  Drawing drawing_;
  Scene scene_;
  double left_ = 0, top_ = 0;
};

}  // namespace

Scene make_scene(const NetPicture& picture, bool across) { return SceneMaker(picture, across).make(); }

}  // namespace cortado::tools

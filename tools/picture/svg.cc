// The picture as SVG. Widths of text are computed, and every text is told its width (textLength), so that no viewer's
// face makes it run over an edge. Colours are classes; a dark page exchanges them. What data layers hand to blocks far
// below, labels as a rule, is a small mark beside those blocks: as lines past the whole net they would only push it
// apart.
#include <algorithm>
#include <set>
#include <sstream>

#include "tools/picture/caption.h"
#include "tools/picture/layout.h"
#include "tools/picture/ranks.h"
#include "tools/picture/render.h"
#include "tools/picture/svg_box.h"
#include "tools/picture/text_width.h"
#include "tools/terminal.h"

namespace cortado::tools {

namespace {

constexpr double kMargin = 28, kMarkHeight = 20;
constexpr int kFar = 9;  // ranks

/// A mark in place of an edge.
struct Mark {
  int edge = 0;
  std::string text;
  double width = 0;
};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : std::string(1, c);
  return out;
}

/// Lines of any text, each made printable.
std::string tooltip(const std::vector<std::string>& lines) {
  constexpr double kNoEnd = 1e9;
  std::string out = "<title>";
  for (size_t i = 0; i < lines.size(); ++i) out += (i ? "\n" : "") + escaped(fitted(lines[i], kNoEnd, 1));
  return out + "</title>";
}

std::string number(double value) { return number_text("%.7g", value); }

std::string about_block(const Block& block) {
  std::vector<std::string> lines;
  for (const caffe::LayerParameter* layer : block.layers) {
    lines.push_back(layer->name() + ": " + layer->type());
    std::istringstream options(options_text(*layer));
    for (std::string line; std::getline(options, line);) lines.push_back("  " + line);
  }
  for (const PictureBlob& top : block.tops)
    lines.push_back("makes " + top.name + (top.shape.empty() ? "" : " " + top.shape));
  if (block.params > 0) lines.push_back(count_text(block.params) + " params");
  if (block.flops > 0) lines.push_back(number_text("%.4g", double(block.flops) / 1e6) + " MFLOP forward");
  return tooltip(lines);
}

class Svg {
 public:
  Svg(const NetPicture& picture, bool across) : picture_(picture), across_(across) {
    for (const Block& block : picture.blocks) boxes_.push_back(make_box(block));
    std::vector<Extent> nodes;
    for (const Box& box : boxes_) nodes.push_back(extent(box.width, box.height));
    for (const BlockEdge& edge : picture.edges) links_.push_back({edge.from, edge.to, edge.blob});
    replace_far_links(nodes);
    Spacing spacing;
    if (across) spacing = {18, 12, 44};
    drawing_ = lay_out(nodes, links_, spacing);
  }

  std::string str() {
    const double inner =
        std::max({across_ ? drawing_.size.along : drawing_.size.across, 430.0, text_width(title(), 20, true)});
    write_legend(inner);
    left_ = kMargin + (inner - (across_ ? drawing_.size.along : drawing_.size.across)) / 2;
    const double width = inner + 2 * kMargin;
    const double height = top_ + (across_ ? drawing_.size.across : drawing_.size.along) + kMargin;
    for (size_t i = 0; i < picture_.edges.size(); ++i) write_edge(i);
    for (size_t i = 0; i < boxes_.size(); ++i) write_block(i);
    for (size_t i = 0; i < marks_.size(); ++i) write_mark(i);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" + number(height) +
           "\" viewBox=\"0 0 " + number(width) + " " + number(height) + "\" role=\"img\">\n" + tooltip({title()}) +
           "\n" + style() +
           "<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7.2\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
           "orient=\"auto\"><path class=\"head\" d=\"M0,0.8L8,4L0,7.2z\"/></marker></defs>\n"
           "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n" +
           body_ + "</svg>\n";
  }

 private:
  Extent extent(double width, double height) const { return across_ ? Extent{height, width} : Extent{width, height}; }

  /// Adds a node for each mark and leads the link from there.
  void replace_far_links(std::vector<Extent>& nodes) {
    const std::vector<int> ranks = ranks_of(nodes.size(), links_);
    for (size_t i = 0; i < links_.size(); ++i) {
      const Link& link = links_[i];
      if (kind_of(picture_.blocks[size_t(link.from)].layers[0]->type()) != LayerKind::kData) continue;
      if (ranks[size_t(link.to)] - ranks[size_t(link.from)] < kFar) continue;
      const std::string text = fitted(picture_.blobs[size_t(link.port)].name, 120, kFacts);
      marks_.push_back({int(i), text, text_width(text, kFacts) + 18});
    }
    std::vector<Extent> all;  // marks first: links go from earlier nodes to later ones
    for (const Mark& mark : marks_) all.push_back(extent(mark.width, kMarkHeight));
    all.insert(all.end(), nodes.begin(), nodes.end());
    for (Link& link : links_) {
      link.from += int(marks_.size());
      link.to += int(marks_.size());
    }
    for (size_t i = 0; i < marks_.size(); ++i) links_[size_t(marks_[i].edge)].from = int(i);
    nodes = std::move(all);
  }

  std::string title() const { return picture_.name.empty() ? "net" : fitted(picture_.name, 600, 20, true); }

  static std::string colours(bool dark) {
    std::string out;
    for (int kind = 0; kind <= int(LayerKind::kOther); ++kind) {
      const KindStyle& style = style_of(LayerKind(kind));
      out += std::string(".") + style.id + "{fill:" + (dark ? style.dark_fill : style.fill) +
             ";stroke:" + (dark ? style.dark_line : style.line) + "}\n";
    }
    return out;
  }

  static std::string style() {
    return "<style>\n"
           "text{font-family:Helvetica,Arial,'Liberation Sans',sans-serif;text-anchor:middle;fill:#1d2430}\n"
           ".name{font-size:13px;font-weight:bold}.caption{font-size:11px}.facts{font-size:10px}.chip{font-size:9.5px}"
           "\n"
           ".title{font-size:20px;font-weight:bold}.title,.headline,.key{text-anchor:start}\n"
           ".headline{font-size:12px}.key{font-size:11px}.facts,.headline,.key{fill:#566172}\n"
           ".page{fill:#ffffff}.box{stroke-width:1.3}.tag{stroke-width:0.8}\n"
           ".edge{fill:none;stroke:#8b95a5;stroke-width:1.5}.edge:hover{stroke:#3f74c6;stroke-width:3}.head{fill:#"
           "8b95a5}\n" +
           colours(false) +
           "@media "
           "(prefers-color-scheme:dark){\ntext{fill:#e9edf3}.facts,.headline,.key{fill:#a9b3c1}.page{fill:#14171c}\n"
           ".edge{stroke:#7d8899}.head{fill:#7d8899}\n" +
           colours(true) + "}\n</style>\n";
  }

  void write_text(const char* kind, double x, double y, const std::string& text, double width) {
    if (text.empty()) return;
    body_ += std::string("<text class=\"") + kind + "\" x=\"" + number(x) + "\" y=\"" + number(y) + "\" textLength=\"" +
             number(width) + "\" lengthAdjust=\"spacingAndGlyphs\">" + escaped(text) + "</text>\n";
  }

  void write_rect(const std::string& kind, double x, double y, double width, double height, double radius) {
    body_ += "<rect class=\"" + kind + "\" x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) +
             "\" height=\"" + number(height) + "\" rx=\"" + number(radius) + "\"/>\n";
  }

  /// Title, headline and the kinds that occur, in rows of `width`.
  void write_legend(double width) {
    write_text("title", kMargin, kMargin + 16, title(), text_width(title(), 20, true));
    const std::string headline = fitted(headline_of(picture_), width, 12);
    write_text("headline", kMargin, kMargin + 37, headline, text_width(headline, 12));
    std::set<LayerKind> kinds;
    for (const Block& block : picture_.blocks)
      for (const caffe::LayerParameter* layer : block.layers) kinds.insert(kind_of(layer->type()));
    double x = kMargin, y = kMargin + 52;
    for (const LayerKind kind : kinds) {
      const KindStyle& style = style_of(kind);
      const double text = text_width(style.name, 11), step = text + 36;
      if (x > kMargin && x + step - 18 > kMargin + width) {
        x = kMargin;
        y += 20;
      }
      write_rect(std::string("tag ") + style.id, x, y, 13, 13, 3.5);
      write_text("key", x + 18, y + 10.3, style.name, text);
      x += step;
    }
    top_ = y + 13 + 26;
  }

  Extent on_page(const Extent& at) const {
    return across_ ? Extent{left_ + at.along, top_ + at.across} : Extent{left_ + at.across, top_ + at.along};
  }

  static std::string pair(const Extent& at) { return number(at.across) + "," + number(at.along); }

  void write_edge(size_t index) {
    const BlockEdge& edge = picture_.edges[index];
    const PictureBlob& blob = picture_.blobs[size_t(edge.blob)];
    const std::vector<Extent>& route = drawing_.routes[index];
    std::string path = "M" + pair(on_page(route[0]));
    for (size_t i = 0; i < route.size(); i += 2) {
      if (i > 0) {
        const double middle = (route[i - 1].along + route[i].along) / 2;
        path += "C" + pair(on_page({route[i - 1].across, middle})) + " " + pair(on_page({route[i].across, middle})) +
                " " + pair(on_page(route[i]));
      }
      if (route[i + 1].along > route[i].along) path += "L" + pair(on_page(route[i + 1]));
    }
    body_ += "<path class=\"edge\" marker-end=\"url(#head)\" d=\"" + path + "\">" +
             tooltip({blob.name + (blob.shape.empty() ? "" : " " + blob.shape)}) + "</path>\n";
  }

  void write_mark(size_t index) {
    const Mark& mark = marks_[index];
    const BlockEdge& edge = picture_.edges[size_t(mark.edge)];
    const Extent centre = on_page(drawing_.centres[index]);
    const PictureBlob& blob = picture_.blobs[size_t(edge.blob)];
    body_ += "<g>" +
             tooltip({blob.name + (blob.shape.empty() ? "" : " " + blob.shape),
                      "made by " + picture_.blocks[size_t(edge.from)].layers[0]->name()}) +
             "\n";
    write_rect("tag data", centre.across - mark.width / 2, centre.along - kMarkHeight / 2, mark.width, kMarkHeight,
               kMarkHeight / 2);
    write_text("facts", centre.across, centre.along + 3.6, mark.text, mark.width - 18);
    body_ += "</g>\n";
  }

  void write_block(size_t index) {
    const Box& box = boxes_[index];
    const Extent centre = on_page(drawing_.centres[marks_.size() + index]);
    const double x = centre.across - box.width / 2, y = centre.along - box.height / 2;
    body_ += "<g>" + about_block(picture_.blocks[index]) + "\n";
    write_rect(std::string("box ") + style_of(box.kind).id, x, y, box.width, box.height, 8);
    write_text("name", centre.across, y + box.name_y, box.name, text_width(box.name, kName, true));
    write_text("caption", centre.across, y + box.caption_y, box.caption, text_width(box.caption, kBody));
    for (const Chip& chip : box.chips) {
      write_rect(std::string("tag ") + style_of(chip.kind).id, x + chip.x, y + chip.y, chip.width, kChipHeight, 4);
      write_text("chip", x + chip.x + chip.width / 2, y + chip.y + 11, chip.text, chip.width - 12);
    }
    write_text("facts", centre.across, y + box.facts_y, box.facts, text_width(box.facts, kFacts));
    body_ += "</g>\n";
  }

  const NetPicture& picture_;
  bool across_;
  std::vector<Box> boxes_;
  std::vector<Link> links_;  ///< of the edges, between marks and then blocks
  std::vector<Mark> marks_;
  Drawing drawing_;
  std::string body_;
  double left_ = 0, top_ = 0;
};

}  // namespace

std::string to_svg(const NetPicture& picture, bool across) { return Svg(picture, across).str(); }

}  // namespace cortado::tools

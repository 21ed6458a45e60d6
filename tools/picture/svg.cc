// The picture as SVG. Texts have their width in Helvetica as textLength, so that viewers that support it show the same
// with any font. For other viewers boxes have space for wider fonts. Colours are classes; dark pages replace them.
#include "tools/output/terminal.h"
#include "tools/output/units.h"
#include "tools/picture/render.h"
#include "tools/picture/scene.h"
#include "tools/picture/text_width.h"

namespace cortado::tools {

namespace {

/// Lines of any text, made printable.
std::string tooltip(const std::vector<std::string>& lines) {
  constexpr double kNoEnd = 1e9;
  std::string out = "<title>";
  for (size_t i = 0; i < lines.size(); ++i) out += (i ? "\n" : "") + xml_escaped(fitted(lines[i], kNoEnd, 1));
  return out + "</title>";
}

std::string number(double value) { return number_text("%.7g", value); }

std::string pair(const Point& at) { return number(at.x) + "," + number(at.y); }

std::string colours(bool dark) {
  std::string out;
  for (int family = 0; family <= int(LayerFamily::kOther); ++family) {
    const FamilyStyle& style = style_of(LayerFamily(family));
    out += std::string(".") + style.id + "{fill:" + (dark ? style.dark_fill : style.fill) +
           ";stroke:" + (dark ? style.dark_line : style.line) + "}\n";
  }
  return out;
}

std::string text_styles() {
  std::string out, muted;
  for (int kind = 0; kind <= int(TextKind::kChip); ++kind) {
    const TextStyle& style = style_of(TextKind(kind));
    out += std::string(".") + style.id + "{font-size:" + number(style.size) + "px" +
           (style.bold ? ";font-weight:bold" : "") + (style.begins ? ";text-anchor:start" : "") + "}";
    if (style.muted) muted += (muted.empty() ? "." : ",.") + std::string(style.id);
  }
  return out + "\n" + muted + "{fill:" + kMutedInk.light +
         "}\n@media (prefers-color-scheme:dark){text{fill:" + kInk.dark + "}" + muted + "{fill:" + kMutedInk.dark +
         "}}\n";
}

std::string style() {
  return std::string(
             "<style>\ntext{font-family:Helvetica,Arial,'Liberation Sans',sans-serif;text-anchor:middle;fill:") +
         kInk.light + "}\n" + text_styles() + ".page{fill:" + kPage.light + "}.box{stroke-width:" + number(kBoxLine) +
         "}.tag{stroke-width:" + number(kSmallLine) + "}\n.edge{fill:none;stroke:" + kEdgeInk.light +
         ";stroke-width:" + number(kEdgeLine) +
         "}.edge:hover{stroke:#3f74c6;stroke-width:3}.head{fill:" + kEdgeInk.light + "}\n" + colours(false) +
         "@media (prefers-color-scheme:dark){\n.page{fill:" + kPage.dark + "}.edge{stroke:" + kEdgeInk.dark +
         "}.head{fill:" + kEdgeInk.dark + "}\n" + colours(true) + "}\n</style>\n";
}

std::string svg_text(const SceneText& text) {
  return std::string("<text class=\"") + style_of(text.kind).id + "\" x=\"" + number(text.x) + "\" y=\"" +
         number(text.y) + "\" textLength=\"" + number(text.width) + "\" lengthAdjust=\"spacingAndGlyphs\">" +
         xml_escaped(text.text) + "</text>\n";
}

std::string box_of(const SceneBox& box) {
  return std::string("<rect class=\"") + (box.small ? "tag " : "box ") + style_of(box.family).id + "\" x=\"" +
         number(box.x) + "\" y=\"" + number(box.y) + "\" width=\"" + number(box.width) + "\" height=\"" +
         number(box.height) + "\" rx=\"" + number(box.radius) + "\"/>\n";
}

std::string contents_of(const SceneGroup& group) {
  std::string out;
  for (const SceneBox& box : group.boxes) out += box_of(box);
  for (const SceneText& text : group.texts) out += svg_text(text);
  return out;
}

std::string edge_of(const SceneGroup& group) {
  std::string path;
  for (size_t i = 0; i < group.edge.size(); i += 4)
    path += (i == 0 ? "M" + pair(group.edge[0]) : "") + "C" + pair(group.edge[i + 1]) + " " + pair(group.edge[i + 2]) +
            " " + pair(group.edge[i + 3]);
  return "<path class=\"edge\" marker-end=\"url(#head)\" d=\"" + path + "\">" + tooltip(group.about) + "</path>\n";
}

}  // namespace

std::string to_svg(const Scene& scene) {
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(scene.width) + "\" height=\"" +
      number(scene.height) + "\" viewBox=\"0 0 " + number(scene.width) + " " + number(scene.height) +
      "\" role=\"img\">\n" + tooltip({scene.title}) + "\n" + style() +
      "<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7.2\" refY=\"4\" markerWidth=\"7\" "
      "markerHeight=\"7\" orient=\"auto\"><path class=\"head\" d=\"M0,0.8L8,4L0,7.2z\"/></marker></defs>\n"
      "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n" +
      contents_of(scene.legend);
  for (const SceneGroup& group : scene.groups)
    out += group.edge.empty() ? "<g>" + tooltip(group.about) + "\n" + contents_of(group) + "</g>\n" : edge_of(group);
  return out + "</svg>\n";
}

}  // namespace cortado::tools

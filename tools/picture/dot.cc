#include "tools/picture/caption.h"
#include "tools/picture/render.h"
#include "tools/picture/text_width.h"

namespace cortado::tools {

namespace {

std::string quoted(const std::string& text) {
  constexpr double kNoEnd = 1e9;
  std::string out = "\"";
  for (const char c : fitted(text, kNoEnd, 1)) out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

/// Lines of a label, each quoted, joined by Graphviz's line break.
std::string label(const std::vector<std::string>& lines) {
  std::string out = "\"";
  for (const std::string& line : lines) {
    const std::string one = quoted(line);
    if (!line.empty()) out += (out.size() > 1 ? "\\n" : "") + one.substr(1, one.size() - 2);
  }
  return out + "\"";
}

std::string stacked_text(const Block& block) {
  std::string text;
  for (size_t i = 1; i < block.layers.size(); ++i) text += (i > 1 ? " · " : "") + block.layers[i]->type();
  return text;
}

}  // namespace

std::string to_dot(const NetPicture& picture, bool across) {
  std::string out = "digraph " + quoted(picture.name) + " {\n  rankdir=" + (across ? "LR" : "TB") +
                    ";\n  label=" + label({picture.name, headline_of(picture)}) +
                    ";\n  labelloc=t;\n  fontname=\"Helvetica\";\n"
                    "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=11];\n"
                    "  edge [color=\"#8b95a5\", fontname=\"Helvetica\", fontsize=9];\n";
  for (size_t i = 0; i < picture.blocks.size(); ++i) {
    const Block& block = picture.blocks[i];
    const FamilyStyle& style = style_of(drawn_family(block.layers[0]->type()));
    out += "  n" + std::to_string(i) + " [label=" +
           label({block.layers[0]->name(), caption_of(*block.layers[0]), stacked_text(block), facts_of(block)}) +
           ", fillcolor=\"" + style.fill + "\", color=\"" + style.line +
           "\", tooltip=" + quoted(options_text(*block.layers[0])) + "];\n";
  }
  for (const BlockEdge& edge : picture.edges)
    out += "  n" + std::to_string(edge.from) + " -> n" + std::to_string(edge.to) +
           " [tooltip=" + quoted(picture.blobs[size_t(edge.blob)].name) + "];\n";
  return out + "}\n";
}

}  // namespace cortado::tools

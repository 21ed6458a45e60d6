#include <iterator>

#include "tools/output/terminal.h"
#include "tools/picture/render.h"
#include "tools/picture/scene_box.h"

namespace cortado::tools {

const FamilyStyle& style_of(LayerFamily family) {
  static constexpr FamilyStyle kStyles[] = {
      {"data", "data", "#e8eaed", "#7d848c", "#2c3035", "#9aa1a9"},
      {"convolution", "convolution", "#dbe8fd", "#3f74c6", "#1c2f4f", "#7aa7f0"},
      {"dense", "dense", "#e6dffb", "#6d54c0", "#2c2450", "#a893f2"},
      {"recurrent", "recurrent", "#d8f1fa", "#1c87ad", "#123a4a", "#63bfe0"},
      {"pooling, resizing", "pooling", "#d6f1e9", "#1f8f78", "#123d34", "#5cc7b0"},
      {"normalisation", "norm", "#fcf0d0", "#a97c0a", "#403311", "#dcb24a"},
      {"activation", "activation", "#fde5d6", "#c9652b", "#472a18", "#ef9d6c"},
      {"joining, splitting", "combine", "#e5f3d6", "#5d8f22", "#293c14", "#9ccb63"},
      {"loss", "loss", "#fcdcdc", "#c23b3b", "#4a1c1e", "#f08585"},
      {"score", "score", "#fae0f0", "#b03a84", "#451d36", "#e78bc2"},
      {"other", "other", "#f1f1f1", "#9a9a9a", "#303030", "#a8a8a8"}};
  return kStyles[size_t(family)];
}

const TextStyle& style_of(TextKind kind) {
  static constexpr TextStyle kStyles[] = {
      {"title", 20, true, true, false},        {"headline", 12, false, true, true},
      {"key", 11, false, true, true},          {"name", kName, true, false, false},
      {"caption", kBody, false, false, false}, {"facts", kFacts, false, false, true},
      {"chip", kChip, false, false, false}};
  return kStyles[size_t(kind)];
}

namespace {

std::string with_crosses(const std::string& shape) {
  std::string out;
  for (const char c : shape) out += c == 'x' ? "×" : std::string(1, c);
  return out;
}

}  // namespace

std::string facts_of(const Block& block) {
  std::string text;
  const bool several = block.tops.size() > 1;
  constexpr size_t kMax = 3;
  for (size_t i = 0; i < block.tops.size() && i < kMax; ++i) {
    const PictureBlob& top = block.tops[i];
    const std::string one = (several ? top.name + (top.shape.empty() ? "" : " ") : "") + with_crosses(top.shape);
    if (!one.empty()) text += (text.empty() ? "" : " · ") + one;
  }
  if (block.tops.size() > kMax) text += " · " + std::to_string(block.tops.size() - kMax) + " more";
  if (block.params > 0) text += (text.empty() ? "" : " · ") + count_text(block.params) + " params";
  return text;
}

std::string headline_of(const NetPicture& picture) {
  std::string text = caffe::Phase_Name(picture.phase) + " · " + std::to_string(picture.layers) +
                     (picture.layers == 1 ? " layer" : " layers");
  if (picture.params > 0) text += " · " + count_text(picture.params) + " params";
  if (!picture.counted || picture.flops == 0) return text;
  const char* units[] = {" FLOP", " kFLOP", " MFLOP", " GFLOP", " TFLOP"};
  double count = double(picture.flops);
  size_t unit = 0;
  for (; count >= 1000 && unit + 1 < std::size(units); ++unit) count /= 1000;
  return text + " · " + number_text("%.3g", count) + units[unit] + " forward";
}

}  // namespace cortado::tools

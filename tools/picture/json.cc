#include "core/text/json.h"

#include <nlohmann/json.hpp>

#include "tools/picture/caption.h"
#include "tools/picture/render.h"

namespace cortado::tools {

using nlohmann::ordered_json;

std::string to_json(const NetPicture& picture) {
  const auto blob_json = [](const PictureBlob& blob) {
    return ordered_json{{"name", blob.name}, {"shape", blob.shape.empty() ? ordered_json() : ordered_json(blob.shape)}};
  };
  ordered_json json = {{"name", picture.name},
                       {"phase", caffe::Phase_Name(picture.phase)},
                       {"layers", picture.layers},
                       {"params", picture.params},
                       {"flops", picture.counted ? ordered_json(picture.flops) : ordered_json()},
                       {"blocks", ordered_json::array()},
                       {"edges", ordered_json::array()}};
  for (const Block& block : picture.blocks) {
    ordered_json layers = ordered_json::array(), tops = ordered_json::array();
    for (const caffe::LayerParameter* layer : block.layers)
      layers.push_back({{"name", layer->name()}, {"type", layer->type()}, {"caption", caption_of(*layer)}});
    for (const PictureBlob& top : block.tops) tops.push_back(blob_json(top));
    json["blocks"].push_back({{"kind", style_of(drawn_family(block.layers[0]->type())).id},
                              {"layers", layers},
                              {"tops", tops},
                              {"params", block.params},
                              {"flops", block.flops}});
  }
  for (const BlockEdge& edge : picture.edges)
    json["edges"].push_back(
        {{"from", edge.from}, {"to", edge.to}, {"blob", blob_json(picture.blobs[size_t(edge.blob)])}});
  return dumped_json(json, 1) + "\n";
}

}  // namespace cortado::tools

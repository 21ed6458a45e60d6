#include "tools/starter/trunk.h"

#include <algorithm>
#include <map>

#include "graph/freeze.h"
#include "tools/options/net_file.h"
#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

constexpr int64_t kFewImages = 2000;  // as the help of --trunk says

/// The number of learned weights of each layer that has any, by the layer's name.
std::map<std::string, int> learned_weights(const std::shared_ptr<const NetFile>& file) {
  graph::BuildOptions options;
  options.state.set_phase(caffe::TRAIN);
  const graph::Graph graph = graph_with_shapes(file, options);
  std::map<std::string, int> counts;
  for (const graph::SourceLayer& layer : graph.layers) {
    const auto count = std::count_if(layer.weights.begin(), layer.weights.end(),
                                     [&](graph::WeightId id) { return graph.weight(id).spec.learned; });
    if (count > 0) counts[layer.config->name()] = int(count);
  }
  return counts;
}

}  // namespace

Trunk trunk_named(const std::string& name) {
  return name == "frozen" ? Trunk::kFrozen : name == "slow" ? Trunk::kSlow : Trunk::kAuto;
}

Trunk choose_trunk(Trunk wanted, int64_t images, Choices& choices) {
  const bool few = images < kFewImages;
  const Trunk trunk = wanted != Trunk::kAuto ? wanted : few ? Trunk::kFrozen : Trunk::kSlow;
  const std::string why = wanted != Trunk::kAuto ? "--trunk" : count_text(images) + " images";
  if (trunk == Trunk::kFrozen)
    choices.push_back({"trunk", "frozen", why + "; the layers before the last keep their weights"});
  else
    choices.push_back({"trunk", "slow", why + "; all layers learn, BatchNorm keeps its averages"});
  return trunk;
}

void prepare_trunk(caffe::NetParameter& net, const std::vector<int>& heads, const std::shared_ptr<const NetFile>& file,
                   Trunk trunk) {
  const std::map<std::string, int> learned =
      trunk == Trunk::kFrozen ? learned_weights(file) : std::map<std::string, int>();
  for (int i = 0; i < net.layer_size(); ++i) {
    if (std::find(heads.begin(), heads.end(), i) != heads.end()) continue;
    caffe::LayerParameter& layer = *net.mutable_layer(i);
    graph::hold_statistics(layer);
    const auto found = learned.find(layer.name());
    if (found == learned.end()) continue;
    layer.clear_param();
    for (int k = 0; k < found->second; ++k) {
      caffe::ParamSpec& param = *layer.add_param();
      param.set_lr_mult(0);
      param.set_decay_mult(0);
    }
  }
}

}  // namespace cortado::tools

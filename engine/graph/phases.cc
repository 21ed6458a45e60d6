#include "graph/phases.h"

#include <algorithm>
#include <set>
#include <string>

#include "graph/graph.h"
#include "layers/registry.h"

namespace cortado::graph {

namespace {

/// What a net is in one phase, by the names of blobs.
struct Phase {
  int layers = 0;
  std::set<int> sources;           ///< layers that make blobs out of none: data, Input
  std::set<std::string> supplies;  ///< what the sources make
  std::set<std::string> missing;   ///< read before a layer makes it
};

Phase phase_of(const caffe::NetParameter& net, const caffe::NetState& state) {
  Phase phase;
  std::set<std::string> made;
  for (int i = 0; i < net.layer_size(); ++i) {
    const caffe::LayerParameter& layer = net.layer(i);
    if (!selected(layer, state)) continue;
    ++phase.layers;
    for (const std::string& bottom : layer.bottom())
      if (!made.contains(bottom)) phase.missing.insert(bottom);
    made.insert(layer.top().begin(), layer.top().end());
    if (layer.bottom_size() > 0 || layer.top_size() == 0 || kind_of(layer.type()) == LayerKind::kConstant) continue;
    phase.sources.insert(i);
    phase.supplies.insert(layer.top().begin(), layer.top().end());
  }
  return phase;
}

/// Whether `one` was not meant to run: `other` has its data.
bool has_no_data(const Phase& one, const Phase& other) {
  return std::includes(other.sources.begin(), other.sources.end(), one.sources.begin(), one.sources.end()) &&
         std::any_of(one.missing.begin(), one.missing.end(),
                     [&other](const std::string& blob) { return other.supplies.contains(blob); });
}

}  // namespace

std::vector<caffe::Phase> phases_with_data(const caffe::NetParameter& net, const caffe::NetState& state) {
  caffe::NetState merged = merge_states(net.state(), state);
  merged.set_phase(caffe::TRAIN);
  const Phase train = phase_of(net, merged);
  merged.set_phase(caffe::TEST);
  const Phase test = phase_of(net, merged);
  std::vector<caffe::Phase> phases;
  if (train.layers > 0 && !has_no_data(train, test)) phases.push_back(caffe::TRAIN);
  if (test.layers > 0 && !has_no_data(test, train)) phases.push_back(caffe::TEST);
  if (phases.empty()) phases.push_back(caffe::TEST);
  return phases;
}

}  // namespace cortado::graph

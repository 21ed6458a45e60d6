#include "graph/blob_index.h"

#include <algorithm>

namespace cortado::graph {

BlobIndex::BlobIndex(const std::vector<const caffe::LayerParameter*>& layers) : layers_(layers) {
  for (size_t i = 0; i < layers_.size(); ++i) {
    for (const std::string& top : layers_[i]->top()) makers_[top].push_back(int(i));
    for (const std::string& bottom : layers_[i]->bottom()) readers_[bottom].push_back(int(i));
  }
}

int BlobIndex::maker_from(int from, const std::string& blob) const {
  const auto found = makers_.find(blob);
  if (found == makers_.end()) return -1;
  const auto at = std::lower_bound(found->second.begin(), found->second.end(), from);
  return at == found->second.end() ? -1 : *at;
}

std::vector<int> BlobIndex::way(int from, int to) const {
  std::vector<int> before(layers_.size(), -1), reached = {from};
  before[size_t(from)] = from;
  for (size_t next = 0; next < reached.size() && before[size_t(to)] < 0; ++next)
    for (const std::string& top : layers_[size_t(reached[next])]->top()) {
      const auto found = readers_.find(top);
      if (found == readers_.end()) continue;
      for (const int reader : found->second) {
        if (before[size_t(reader)] >= 0) continue;
        before[size_t(reader)] = reached[next];
        reached.push_back(reader);
      }
    }
  if (before[size_t(to)] < 0) return {};
  std::vector<int> way = {to};
  while (way.back() != from) way.push_back(before[size_t(way.back())]);
  std::reverse(way.begin(), way.end());
  return way;
}

}  // namespace cortado::graph

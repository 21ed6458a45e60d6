#include "tools/convert/weights_difference.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "proto/weights/weights_file.h"
#include "solvers/snapshot.h"

namespace cortado::tools {

namespace {

std::vector<LayerWeights> weights_in(const std::string& path) {
  return path.ends_with(".solverstate") || path.ends_with(".solverstate.h5") ? read_snapshot(path).weights
                                                                             : read_weights(path);
}

BlobChange change_of(const std::string& name, const std::vector<float>& a, const std::vector<float>& b) {
  BlobChange change{name};
  double norm = 0, squares = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double step = double(b[i]) - a[i];
    norm += double(a[i]) * a[i];
    squares += step * step;
    change.largest = std::max(change.largest, std::abs(step));
  }
  change.norm = std::sqrt(norm);
  change.change = std::sqrt(squares);
  return change;
}

}  // namespace

WeightsDifference weights_difference(const std::string& path_a, const std::string& path_b) {
  std::map<std::string, BlobFile> a;
  WeightsDifference difference;
  for (LayerWeights& layer : weights_in(path_a))
    for (size_t i = 0; i < layer.blobs.size(); ++i) a[layer.name + "/" + std::to_string(i)] = std::move(layer.blobs[i]);
  for (const LayerWeights& layer : weights_in(path_b))
    for (size_t i = 0; i < layer.blobs.size(); ++i) {
      const std::string name = layer.name + "/" + std::to_string(i);
      const auto found = a.find(name);
      if (found == a.end() || found->second.data.size() != layer.blobs[i].data.size()) {
        difference.elsewhere.push_back(name);
      } else {
        const BlobChange change = change_of(name, found->second.data, layer.blobs[i].data);
        change.largest > 0 ? difference.changed.push_back(change) : void(++difference.equal);
      }
      if (found != a.end()) a.erase(found);
    }
  for (const auto& [name, blob] : a) difference.elsewhere.push_back(name);
  return difference;
}

}  // namespace cortado::tools

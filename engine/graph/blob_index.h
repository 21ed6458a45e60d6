#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "proto/cortado.pb.h"

namespace cortado::graph {

/// Which layers of a list write and read each blob, by index in the list. It keeps diagnostics of nets with thousands
/// of layers from scanning all layers for each error.
class BlobIndex {
 public:
  explicit BlobIndex(const std::vector<const caffe::LayerParameter*>& layers);  ///< the layers must outlive this object

  /// The first layer at or after `from` that writes the blob; -1: none.
  int maker_from(int from, const std::string& blob) const;
  /// The layers on a shortest path from the outputs of `from` to `to`, both included; empty: no path.
  std::vector<int> way(int from, int to) const;

 private:
  using Places = std::unordered_map<std::string, std::vector<int>>;

  std::vector<const caffe::LayerParameter*> layers_;
  Places makers_, readers_;
};

}  // namespace cortado::graph

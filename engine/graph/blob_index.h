#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "proto/cortado.pb.h"

namespace cortado::graph {

/// Which layers of a list make and read a blob, by their places in it: mistakes in thousands of layers are explained
/// without going through all layers for each.
class BlobIndex {
 public:
  explicit BlobIndex(const std::vector<const caffe::LayerParameter*>& layers);  ///< they outlive this

  /// The first layer from `from` on that makes the blob; -1: none.
  int maker_from(int from, const std::string& blob) const;
  /// The layers on a shortest way from what `from` makes to `to`, both included; empty: there is none.
  std::vector<int> way(int from, int to) const;

 private:
  using Places = std::unordered_map<std::string, std::vector<int>>;

  std::vector<const caffe::LayerParameter*> layers_;
  Places makers_, readers_;
};

}  // namespace cortado::graph

#pragma once

// A net for notebooks: between passes, a script reads and sets blobs and gradients, and runs only some of the layers.
// Blobs are identified by name: as in Caffe, what the file computes in place is one blob, though it is several values
// here.

#include <map>
#include <string>
#include <vector>

#include "net/net.h"

namespace cortado {

/// The values of a blob or its gradient.
enum class BlobPart { kValues, kGradients };

class ObservedNet {
 public:
  /// `net` was built with BuildOptions::observed and must outlive this object.
  explicit ObservedNet(Net& net);

  Net& net() { return net_; }
  const Net& net() const { return net_; }
  /// In the order in which the file's layers write them.
  const std::vector<std::string>& blobs() const { return blobs_; }
  size_t layers() const { return net_.plan().graph.layers.size(); }

  /// Row-major, with as many elements as Net::blob_shape(); gradients that no pass computes are 0. After part of a
  /// pass, the value of the last layer that ran. Both throw Error(kUsage) with the nearest name.
  void read(const std::string& blob, BlobPart part, float* plain) const;
  /// The next layer that reads the blob reads these. A gradient that no pass reads is not kept.
  void write(const std::string& blob, BlobPart part, const float* plain);

  /// Runs layers [first, last] of plan().graph.layers.
  void forward(size_t first, size_t last);
  /// Runs backward from `last` to `first`. Gradients start with those of the losses and those written. With
  /// BuildOptions::accumulates, gradients of weights are added to the present ones.
  void backward(size_t first, size_t last);
  /// Sets the gradients of all weights to 0.
  void clear_weight_gradients();
  /// Call after the net ran as a whole, outside this object.
  void ran();

 private:
  /// The values of one name in the order of their layers, and the last one that was computed.
  struct Versions {
    std::vector<graph::ValueId> values;
    graph::ValueId value = -1, gradient = -1;
  };
  struct NodeRange {
    graph::NodeId first, last;
    bool contains(graph::NodeId node) const { return first <= node && node <= last; }
  };

  const Versions& versions(const std::string& blob) const;
  bool has_gradient(graph::ValueId value) const;
  NodeRange nodes_of(size_t first, size_t last) const;
  void gate(graph::ValueId value, float* gradient) const;
  void made(graph::ValueId value, graph::ValueId Versions::*latest);

  Net& net_;
  std::vector<std::string> blobs_;
  std::map<std::string, Versions> versions_;
};

}  // namespace cortado

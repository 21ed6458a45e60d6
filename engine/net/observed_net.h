#pragma once

// A net for notebooks: between passes, a script reads and sets blobs and gradients, and runs only some of the layers.
// Blobs are identified by name. As in Caffe, what the file computes in place is one blob: a layer reads what the last
// layer that ran has left in it. Here it is one value for each layer that writes it, because backward may need them
// all.

#include <map>
#include <set>
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
  bool has_blob(const std::string& blob) const { return versions_.contains(blob); }
  size_t layers() const { return net_.plan().graph.layers.size(); }

  // These throw Error(kUsage) with the nearest name for an unknown blob.

  /// The shape of what read() returns: with dynamic rows, that of the latest pass.
  const Shape& shape(const std::string& blob) const;
  /// Row-major, with as many elements as shape(); gradients that no pass computes are 0. After part of a pass, the
  /// value of the last layer that ran.
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
  /// Copies values and gradients of the blobs of equal shape from `other`, a net of the same file or of its first
  /// layers.
  void take_blobs(const ObservedNet& other);
  /// Call after the net ran as a whole, outside this object.
  void ran();

 private:
  /// The values of one name in the order of their layers, copies in other layouts among them, and the latest one.
  struct Versions {
    std::vector<graph::ValueId> values;
    graph::ValueId value = -1, gradient = -1;
  };
  struct NodeRange {
    graph::NodeId first, last;
    bool contains(graph::NodeId node) const { return first <= node && node <= last; }
  };

  const Versions& versions(const std::string& blob) const;
  Versions* versions_of(graph::ValueId value);
  bool has_gradient(graph::ValueId value) const;
  bool is_stopped(const graph::Value& value) const;
  graph::ValueId original(graph::ValueId value) const;
  Tensor live_tensor(graph::ValueId value, BlobPart part, const Shape& shape) const;
  NodeRange nodes_of(size_t first, size_t last) const;
  void run_forward(graph::NodeId node, std::set<graph::NodeId>& added);
  void take_versions(Versions& to, const ObservedNet& other, const Versions& from);
  void take_value(graph::ValueId value);
  void take_gradient(graph::ValueId value);

  Net& net_;
  std::vector<std::string> blobs_;
  std::map<std::string, Versions> versions_;
  std::vector<int> forward_step_;  ///< per node; -1: it only has a view
};

}  // namespace cortado

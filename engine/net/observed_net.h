#pragma once

// A net as notebooks use one: between passes somebody looks at blobs and gradients, sets them, and runs only some of
// the layers. Blobs go by the file's names: what the file computes in place is one blob, as in Caffe, though it is
// several values here.

#include <map>
#include <string>
#include <vector>

#include "net/net.h"

namespace cortado {

/// Which numbers of a blob.
enum class BlobPart { kValues, kGradients };

class ObservedNet {
 public:
  /// `net` was built with BuildOptions::observed, and outlives this.
  explicit ObservedNet(Net& net);

  Net& net() { return net_; }
  const Net& net() const { return net_; }
  /// In the order in which the file's layers make them.
  const std::vector<std::string>& blobs() const { return blobs_; }
  size_t layers() const { return net_.plan().graph.layers.size(); }

  /// Row-major, as many as the blob's shape (Net::blob_shape()) says; gradients that no pass makes are 0. After a part
  /// of a pass, what its last layer left. Throw Error(kUsage) with the nearest name.
  void read(const std::string& blob, BlobPart part, float* plain) const;
  /// Whichever layer reads it next finds these. A gradient that no pass reads is not kept.
  void write(const std::string& blob, BlobPart part, const float* plain);

  /// Runs layers [first, last] of plan().graph.layers.
  void forward(size_t first, size_t last);
  /// Runs their backward, from the last to the first. Gradients begin with those of the losses and what was written.
  /// Where BuildOptions::accumulates planned for it, those of weights are added to what is there.
  void backward(size_t first, size_t last);
  /// Sets the gradients of all weights to 0.
  void clear_weight_gradients();
  /// To be told that the net was run by somebody else, as a whole.
  void ran();

 private:
  /// The values of one name, in the order in which they are made, and which of them was made last.
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

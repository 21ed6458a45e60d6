#pragma once

// The weights of a net in the order of its file, shared ones once. Converts them, and what solvers store for each
// learned one, to and from messages in the user's shapes.

#include <string>
#include <vector>

#include "net/net.h"

namespace cortado {

class WeightList {
 public:
  /// `net` must outlive this object.
  explicit WeightList(Net& net);

  size_t size() const { return slots_.size(); }
  const Shape& shape(size_t k) const { return net_.plan().graph.weight(slots_[k].id).spec.shape; }
  int param(size_t k) const { return slots_[k].param; }  ///< index into params(), or -1: weight k does not learn

  /// Writes `stored`, which has the layout and format of weight k, to a message; zeros if weight k does not learn.
  void save(size_t k, const float* stored, caffe::BlobProto& out) const;
  /// Reads it back into `stored`; weights that do not learn are only checked. Throws Error(kSnapshot) about `what` if
  /// the size does not match.
  void load(size_t k, const caffe::BlobProto& blob, float* stored, const std::string& what) const;

 private:
  struct Slot {
    graph::WeightId id;
    int param;
  };
  Net& net_;
  std::vector<Slot> slots_;
};

}  // namespace cortado

#pragma once

// The weights of a net in the order of its file, shared ones once, and what solvers keep for each that learns, to and
// from messages in the user's shapes.

#include <string>
#include <vector>

#include "net/net.h"

namespace cortado {

class WeightList {
 public:
  /// `net` outlives this.
  explicit WeightList(Net& net);

  size_t size() const { return slots_.size(); }
  const Shape& shape(size_t k) const { return net_.plan().graph.weight(slots_[k].id).spec.shape; }
  int param(size_t k) const { return slots_[k].param; }  ///< index into params(), or -1: weight k does not learn

  /// `stored`, in the memory and format of weight k, as a message; zeros where weight k does not learn.
  void save(size_t k, const float* stored, caffe::BlobProto& out) const;
  /// Back into `stored`; weights that do not learn are only checked. Throws Error(kSnapshot) about `what` where the
  /// size does not fit.
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

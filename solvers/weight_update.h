#pragma once

// The history of a net's weights, and on the CPU the way from gradients to new weights, in Caffe's order: clip the
// accumulated gradient by its global norm, divide by iter_size, add weight decay, apply the rule. Only the norm takes a
// pass of its own; the rest is one loop inside the rule.

#include <span>
#include <vector>

#include "core/device_memory.h"
#include "net/net.h"
#include "solvers/update_rule.h"
#include "solvers/weight_list.h"

namespace cortado {

/// Whether a solver updates each weight within backward, as soon as its gradient is complete, so that gradients need no
/// memory of their own: nothing reads all of them together. On a device one pass over all weights is faster.
bool updates_within_backward(const caffe::SolverParameter& config, const Context& context);

class WeightUpdate {
 public:
  /// Takes memory for the history, which is zero. `config` names a known rule that accepts it; both references outlive
  /// this.
  WeightUpdate(const caffe::SolverParameter& config, Net& net);

  /// One update of every learning weight of the net. Allocates nothing. `verbose`: logs whether gradients were clipped.
  void apply(int64_t iter, const StepRates& rates, bool verbose = false);

  /// The net's backward() and the update in one; the bits of the one after the other. No gradients are clipped, so
  /// updates_within_backward() must hold.
  void backward_and_apply(int64_t iter, const StepRates& rates);

  const UpdateRule& rule() const { return rule_; }
  /// Per param of the net, as IterationStep::of() takes them; what they point to is in the memory of the net's device.
  const std::vector<WeightStep>& entries() const { return entries_; }
  std::span<std::byte> history_memory() { return {arena_.data(), arena_.bytes()}; }
  int64_t history_bytes() const { return int64_t(arena_.bytes()); }

  /// The history as Caffe stores it: one blob for each weight of the net in the file's order (zero for those that do
  /// not learn), in the user's shapes; rules with two have all first ones, then all second ones.
  size_t history_blobs() const { return list_.size() * size_t(rule_.histories); }
  const Shape& history_shape(size_t blob) const { return list_.shape(blob % list_.size()); }
  void save(size_t blob, caffe::BlobProto& out) const;
  /// Throws Error(kSnapshot) naming `path` where number or sizes do not fit.
  void load(const google::protobuf::RepeatedPtrField<caffe::BlobProto>& blobs, const std::string& path);

  /// The number that the rule keeps for each param, where it keeps one (TrainingState.rule_memory). Numbers of a net
  /// with other params are ignored.
  void save_memory(caffe::TrainingState& training) const;
  void load_memory(const caffe::TrainingState& training);

 private:
  float clip_factor(bool verbose);
  IterationStep step_of(int64_t iter, const StepRates& rates, float scale) const;
  void apply_to(size_t param, const IterationStep& step);
  void make_entries();
  float* history_of(size_t blob) const;

  const caffe::SolverParameter& config_;
  const UpdateRule& rule_;
  Net& net_;
  DeviceMemory arena_;
  DeviceMemory memory_;              ///< one number per param, where the rule keeps one
  std::vector<WeightStep> entries_;  ///< per param
  WeightList list_;
  std::vector<float> scratch_;
  std::vector<WeightSums> sums_;
};

}  // namespace cortado

#pragma once

// The history of a net's weights, and on the CPU the update from gradients to new weights, in Caffe's order: clip the
// accumulated gradient by its global norm, divide by iter_size, add weight decay, apply the rule. Only the norm needs a
// separate pass; the rest is one loop inside the rule.

#include <optional>
#include <span>
#include <vector>

#include "core/device/device_memory.h"
#include "net/net.h"
#include "ranks/engine.h"
#include "ranks/slices.h"
#include "solvers/iteration_plan.h"
#include "solvers/weight_list.h"

namespace cortado {

class WeightUpdate {
 public:
  /// Allocates memory for the history, initially zero. Both references must outlive this object. With `slices` a rank
  /// has the history of these parts of net.gradient_memory() only, and updates only them. This requires
  /// plan.updates_by_slices().
  WeightUpdate(const IterationPlan& plan, Net& net, std::optional<std::vector<ranks::FloatRange>> slices = {});

  /// Updates every learned weight of the net. Allocates nothing. `verbose`: logs whether gradients were clipped.
  void apply(int64_t iter, const StepRates& rates, bool verbose = false);

  /// The net's backward() combined with the update; the same bits as one after the other. Requires
  /// plan.updates_within_backward(), so no gradients are clipped. `reader`, if not null, is called for each param
  /// before its update.
  void backward_and_apply(int64_t iter, const StepRates& rates, GradientReader* reader = nullptr);

  bool is_sliced() const { return is_sliced_; }
  /// Updates the weights of one slice, from any thread, and copies their values to the place of their gradients.
  void apply_to_slice(const ranks::FloatRange& slice, Context& context, int64_t iter, const StepRates& rates);
  /// Copies weights from the place of the gradients of `range` into the net.
  void take_weights(const ranks::FloatRange& range);

  /// One per param of the net, or per part of one within a slice, as IterationStep::of() expects them. The pointers are
  /// to the memory of the net's device.
  const std::vector<WeightStep>& entries() const { return entries_; }
  /// The history of all params in order, if this rank has all of it.
  std::span<std::byte> history_memory() { return {whole().data(), whole().bytes()}; }
  int64_t history_bytes() const { return whole_bytes_; }  ///< for all weights
  int64_t bytes() const { return int64_t(arena_.bytes() + memory_.bytes()); }
  /// Collective, if histories are sliced: rank `first` receives the whole history, until drop_whole(). scatter() does
  /// the reverse.
  void gather(ranks::Engine& engine, const std::vector<std::vector<ranks::FloatRange>>& slices, int first);
  void scatter(ranks::Engine& engine, const std::vector<std::vector<ranks::FloatRange>>& slices, int first);
  void make_whole() { whole_ = DeviceMemory(net_.context(), size_t(whole_bytes_)); }  ///< zeros
  void drop_whole() { whole_ = DeviceMemory(); }

  /// The history as Caffe stores it: one blob for each weight of the net in the file's order (zero for those that do
  /// not learn), in the user's shapes. Rules with two histories have all first ones, then all second ones.
  size_t history_blobs() const { return list_.size() * size_t(rule_.histories); }
  const Shape& history_shape(size_t blob) const { return list_.shape(blob % list_.size()); }
  void save(size_t blob, caffe::BlobProto& out) const;
  /// Throws Error(kSnapshot) with `path` if the number or the sizes do not match. A sliced history is then complete on
  /// this rank, ready for scatter().
  void load(const google::protobuf::RepeatedPtrField<caffe::BlobProto>& blobs, const std::string& path);

  /// The number that the rule stores for each param, if any (TrainingState.rule_memory). Numbers for a net with other
  /// params are ignored.
  void save_memory(caffe::TrainingState& training) const;
  void load_memory(const caffe::TrainingState& training);

 private:
  /// The factor for the accumulated gradients by clip_gradients.
  float clip_factor(bool verbose);
  IterationStep step_of(int64_t iter, const StepRates& rates, float scale) const;
  void apply_to(size_t param, const IterationStep& step);
  void make_entries();
  void make_sliced_entries(const std::vector<ranks::FloatRange>& slices);
  const DeviceMemory& whole() const { return is_sliced_ ? whole_ : arena_; }
  template <typename Use>
  void visit_history(const std::vector<ranks::FloatRange>& slices, const Use& use) const;
  float* history_of(size_t blob) const;

  const IterationPlan& plan_;
  const UpdateRule& rule_;
  Net& net_;
  const bool is_sliced_;
  int64_t whole_bytes_ = 0;
  DeviceMemory arena_;
  DeviceMemory whole_;               ///< of all ranks, after gather()
  DeviceMemory memory_;              ///< one number per param, if the rule stores one
  std::vector<int64_t> places_;      ///< per param: the offset of its history in the whole one, in floats
  std::vector<WeightStep> entries_;  ///< per param, or per part of one in a slice
  WeightList list_;
  std::vector<float> scratch_;
  std::vector<WeightSums> sums_;
};

}  // namespace cortado

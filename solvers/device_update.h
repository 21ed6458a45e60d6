#pragma once

// An iteration's arithmetic after backward, on a device, without the host: is the loss finite, are all gradients, how
// much is clipped, how the loss is scaled next time, and one pass over all weights, which is left out where something
// is not finite. What it depends on lies in device memory, so that it can be recorded once and run often.
//
// Scaling: 16-bit gradients of binary16 underflow, so the loss is multiplied by `loss_scale` and the gradients are
// divided by it in the update. Where one is not finite the update is left out and the scale halved; after kGoodSteps
// updates it is doubled.
//
// 16-bit copies of weights that the net's kernels read (Net::weight_copies()) are written by the pass over the weights.

#include <vector>

#include "core/device_memory.h"
#include "net/net.h"
#include "solvers/update_rule.h"

namespace cortado {

constexpr int kGoodSteps = 2000;
constexpr float kFirstLossScale = 65536, kLeastLossScale = 1.0f / 1024, kMaxLossScale = 16777216;

/// What an iteration leaves behind, in the device's memory and, read(), on the host.
struct StepState {
  IterationStep step;
  float loss = 0;        ///< the mean of the iteration's passes
  float loss_scale = 1;  ///< of the next iteration
  double norm = 0;       ///< of the accumulated gradients
  bool finite_gradients = true;
  int32_t good_steps = 0;
  int64_t skipped = 0;  ///< updates left out so far because of the gradients
};

struct SumOfSquares;

class DeviceUpdate {
 public:
  /// `entries` per param, as IterationStep::of() takes them (WeightUpdate::entries()); all references outlive this.
  DeviceUpdate(const caffe::SolverParameter& config, const UpdateRule& rule, Net& net,
               const std::vector<WeightStep>& entries);

  /// Tells the device what the next apply() is to be. Not to be recorded.
  void begin(int64_t iter, const StepRates& rates);

  // To be recorded, in this order:
  void add_loss(const float* loss, bool first);  ///< of each pass
  void apply();

  /// Waits for the iteration.
  StepState read();
  void write(const StepState& state);

  /// In device memory; null where the loss is not scaled.
  const float* loss_scale() const;

 private:
  StepState* state() const { return reinterpret_cast<StepState*>(memory_.data()); }
  void make_tables(const std::vector<WeightStep>& entries);
  void make_copies();
  const SumOfSquares* sum_squares();

  const caffe::SolverParameter& config_;
  const UpdateRule& rule_;
  Net& net_;
  Context& context_;
  bool scales_;
  DeviceMemory memory_, input_, weights_, copies_, pieces_, first_piece_, sums_, rates_, squares_;
  PinnedMemory seen_;  ///< the state, as read() brings it here
  WeightTable table_;
};

}  // namespace cortado

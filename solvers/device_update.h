#pragma once

// An iteration's arithmetic after backward, on a device, without the host: is the loss finite, are all gradients, how
// much is clipped, how the loss is scaled next time, and one pass over all weights, which is left out where something
// is not finite. What it depends on lies in device memory, so that it can be recorded once and run often.
//
// Scaling: 16-bit gradients of binary16 underflow, so the loss is multiplied by `loss_scale` and the gradients are
// divided by it in the update. Where one is not finite the update is left out and the scale halved; after kGoodSteps
// updates it is doubled.
//
// The host may tell the device another iteration before it has seen what became of one. So where one ends the training,
// by a loss or a gradient that is not finite, the device leaves out the updates of later ones, too, until the host has
// looked.
//
// 16-bit copies of weights that the net's kernels read (Net::weight_copies()) are written by the pass over the weights.

#include <vector>

#include "core/device/async_readback.h"
#include "core/device/device_memory.h"
#include "net/net.h"
#include "solvers/iteration_plan.h"

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
  int64_t skipped = 0;   ///< updates left out so far because of the gradients
  int32_t requests = 0;  ///< Request flags, where ranks tell one another theirs
  /// This iteration ends the training; nothing is updated any more, and all but the loss stays as it is.
  bool ends = false;
};

struct SumOfSquares;

class DeviceUpdate {
 public:
  /// `entries` per param, as IterationStep::of() takes them (WeightUpdate::entries()); all references outlive this.
  DeviceUpdate(const IterationPlan& plan, Net& net, const std::vector<WeightStep>& entries);

  /// Tells the device what the next apply() is to be. Not to be recorded.
  void begin(int64_t iter, const StepRates& rates);

  // To be recorded, in this order:
  void add_loss(const float* loss, bool first);  ///< of each pass
  void apply();

  /// Not to be recorded: what the state is at this point of the context's work will be seen(slot), 0 or 1. That waits
  /// for this point alone; where training ends there, later iterations are updates again.
  void keep(int slot) { kept_[slot].begin(context_, memory_.data()); }
  StepState seen(int slot);

  /// The state as it is when all work is done, for which read() waits.
  StepState read();
  void write(const StepState& state);

  // In device memory:
  StepState* state() const { return reinterpret_cast<StepState*>(memory_.data()); }
  const float* loss_scale() const;  ///< null where the loss is not scaled

 private:
  void make_tables(const std::vector<WeightStep>& entries);
  void make_copies();
  const SumOfSquares* sum_squares();

  const IterationPlan& plan_;
  const UpdateRule& rule_;
  Net& net_;
  Context& context_;
  bool scales_;
  DeviceMemory memory_, input_, weights_, copies_, pieces_, first_piece_, sums_, rates_, squares_;
  AsyncReadback kept_[2], now_;
  WeightTable table_;
};

}  // namespace cortado

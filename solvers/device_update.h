#pragma once

// The arithmetic of an iteration after backward, on a device and without the host: checks that the loss and all
// gradients are finite, computes the clipping factor and the next loss scale, then updates all weights in one pass. The
// pass is skipped if a value is not finite. All inputs are in device memory, so the work can be captured once and
// replayed.
//
// Loss scaling: 16-bit gradients of binary16 underflow, so the loss is multiplied by `loss_scale` and the update
// divides the gradients by it. If a gradient is not finite, the update is skipped and the scale is halved. After
// kGoodSteps updates it is doubled.
//
// The host may submit an iteration before it has read the result of the previous one. So if a loss or gradient that
// is not finite ends the training, the device also skips the updates of later iterations until the host has read the
// state.
//
// The pass over the weights also writes the 16-bit copies that the net's kernels read (Net::weight_copies()).

#include <vector>

#include "core/device/async_readback.h"
#include "core/device/device_memory.h"
#include "net/net.h"
#include "solvers/iteration_plan.h"

namespace cortado {

constexpr int kGoodSteps = 2000;
constexpr float kFirstLossScale = 65536, kLeastLossScale = 1.0f / 1024, kMaxLossScale = 16777216;

/// The result of an iteration, in device memory; read() copies it to the host.
struct StepState {
  IterationStep step;
  float loss = 0;        ///< the mean over the iteration's passes
  float loss_scale = 1;  ///< for the next iteration
  double norm = 0;       ///< of the accumulated gradients, averaged over shards
  bool finite_gradients = true;
  int32_t good_steps = 0;
  int64_t skipped = 0;   ///< updates skipped so far because of gradients that are not finite
  int32_t requests = 0;  ///< Request flags, if ranks exchange them
  /// This iteration ends the training: later updates are skipped, and everything but the loss keeps its value.
  bool ends = false;
};

struct SumOfSquares;

class DeviceUpdate {
 public:
  /// `entries`: one per param, as IterationStep::of() expects them (WeightUpdate::entries()). All references must
  /// outlive this object.
  DeviceUpdate(const IterationPlan& plan, Net& net, const std::vector<WeightStep>& entries);

  /// Sets the iteration and rates of the next apply(). Do not capture this call.
  void begin(int64_t iter, const StepRates& rates);

  // To be captured, in this order:
  void add_loss(const float* loss, bool first);  ///< once per pass
  void apply();

  /// Records the state at this point of the context's work, to be returned by seen(slot), slot 0 or 1. seen() waits for
  /// this point only; if the training ends there, it enables later updates again. Do not capture this call.
  void keep(int slot) { kept_[slot].begin(context_, memory_.data()); }
  StepState seen(int slot);

  /// Waits for all work and returns the state after it.
  StepState read();
  void write(const StepState& state);

  // In device memory.
  StepState* state() const { return reinterpret_cast<StepState*>(memory_.data()); }
  const float* loss_scale() const;  ///< null if the loss is not scaled

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

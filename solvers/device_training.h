#pragma once

// One iteration of training on a device: data are brought there, then everything from forward to the update runs
// without the host. Where an iteration has one pass it is recorded as one CUDA graph, else as several: of the first
// pass, of the others, of the update. The host waits once, for the loss.

#include "core/captured_work.h"
#include "net/net.h"
#include "solvers/device_update.h"

namespace cortado {

class DeviceTraining {
 public:
  /// As DeviceUpdate.
  DeviceTraining(const caffe::SolverParameter& config, const UpdateRule& rule, Net& net,
                 const std::vector<WeightStep>& entries);

  /// An iteration in two: forward and backward of all its passes; the update. In between state() has the loss,
  /// which waits for the device. `verbose`: the net logs debug_info's lines, so nothing is recorded.
  void run_passes(int64_t iter, bool verbose);
  /// The iteration's state afterwards; its loss or gradients may not be finite, and then nothing was updated.
  StepState update(int64_t iter, const StepRates& rates);
  StepState iterate(int64_t iter, const StepRates& rates, bool verbose);

  /// Whether a gradient that is not finite is a reason to scale the loss otherwise, not to stop.
  bool scales_loss() const { return update_.loss_scale() != nullptr; }
  StepState state() { return update_.read(); }
  void set_state(const StepState& state) { update_.write(state); }

 private:
  bool is_one_graph() const { return config_.iter_size() == 1 && net_.stages_all_host_work(); }
  void stage(int64_t iter, int k);
  void pass(int k);

  const caffe::SolverParameter& config_;
  Net& net_;
  DeviceUpdate update_;
  CapturedWork iteration_, first_pass_, more_passes_, update_work_;
};

}  // namespace cortado

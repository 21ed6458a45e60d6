#pragma once

// One iteration of training on a device: data are brought there, then everything from forward to the update runs
// without the host. Where an iteration has one pass it is recorded as one CUDA graph, else as several: of the first
// pass, of the others, of the update. The host need not wait for an iteration before it tells the device the next one:
// what became of it, its loss first of all, is seen() later.

#include <string>
#include <utility>
#include <vector>

#include "core/captured_work.h"
#include "net/net.h"
#include "solvers/device_update.h"

namespace cortado {

class DeviceTraining {
 public:
  /// As DeviceUpdate.
  DeviceTraining(const caffe::SolverParameter& config, const UpdateRule& rule, Net& net,
                 const std::vector<WeightStep>& entries);

  /// Tells the device an iteration: forward and backward of all its passes, the update. Iterations are told in order,
  /// and seen() in order, the one before the latest at the latest. `verbose`: the net logs debug_info's lines, so
  /// nothing is recorded. Waits for data, and where layers work on the host.
  void tell(int64_t iter, const StepRates& rates, bool verbose);
  /// The same in two. In between state() has the loss.
  void run_passes(int64_t iter, bool verbose);
  void update(int64_t iter, const StepRates& rates);

  /// The state that an iteration left, and waits for it, not for one after it. Its loss or gradients may not be finite,
  /// and then neither it nor one that was told since has updated anything.
  StepState seen(int64_t iter) { return update_.seen(slot(iter)); }
  /// tell() and seen() at once.
  StepState iterate(int64_t iter, const StepRates& rates, bool verbose);
  /// Where `iter` updated nothing: values, gradients and data layers as it left them, although one more was told.
  void go_back(int64_t iter);

  /// Whether the host has nothing to do within an iteration, so that another one may be told before this one is seen.
  bool runs_ahead() const { return net_.stages_all_host_work(); }

  /// Whether a gradient that is not finite is a reason to scale the loss otherwise, not to stop.
  bool scales_loss() const { return update_.loss_scale() != nullptr; }
  /// As it is once all work is done.
  StepState state() { return update_.read(); }
  void set_state(const StepState& state) { update_.write(state); }

 private:
  using Positions = std::vector<std::pair<std::string, uint64_t>>;

  static int slot(int64_t iter) { return int(iter % 2); }
  bool is_one_graph() const { return config_.iter_size() == 1 && net_.stages_all_host_work(); }
  void begin(int64_t iter);
  void stage(int64_t iter, int k);
  void pass(int k);

  const caffe::SolverParameter& config_;
  Net& net_;
  DeviceUpdate update_;
  CapturedWork iteration_, first_pass_, more_passes_, update_work_;
  int64_t latest_ = -1;  ///< that was told
  Positions before_[2];  ///< of data layers, before each of the latest two
};

}  // namespace cortado

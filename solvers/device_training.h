#pragma once

// One iteration of training on a device. The data are copied there; forward, backward and the update then run without
// the host. An iteration of one pass is captured as one CUDA graph; otherwise there are three: of the first pass, of
// the other passes, and of the update. The host may submit the next iteration before it reads the result of the
// previous one by seen(). If ranks share an iteration, its last pass is not captured, because gradients are sent as
// soon as they are complete.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/device/captured_work.h"
#include "net/net.h"
#include "solvers/device_shards.h"
#include "solvers/device_update.h"

namespace cortado {

class DeviceTraining {
 public:
  /// The first arguments are those of DeviceUpdate. The references must outlive this object.
  DeviceTraining(const IterationPlan& plan, Net& net, const std::vector<WeightStep>& entries, CarriedStates& carried,
                 const RankShare& share = {});

  /// See DeviceShards::connect(). Does nothing if an iteration has one shard.
  void connect(const std::string& engine);

  /// Submits an iteration: forward and backward of all its passes, and the update. The results are read by seen() in
  /// the same order, and at most two may be pending. `verbose`: the net logs debug_info's lines, so nothing is
  /// captured. Waits for data, and for layers that run on the host. `requests`: those of this rank, to be sent to the
  /// others.
  void tell(int64_t iter, const StepRates& rates, bool verbose, int requests = 0);
  /// The same in two steps. Between them state() has the loss.
  void run_passes(int64_t iter, bool verbose, int requests = 0);
  void update(int64_t iter, const StepRates& rates);

  /// Waits for this iteration only and returns the state after it. If its loss or gradients are not finite, neither it
  /// nor a later submitted iteration has updated anything.
  StepState seen(int64_t iter);
  /// Submits an iteration and waits for its state.
  StepState iterate(int64_t iter, const StepRates& rates, bool verbose);
  /// For an iteration that updated nothing: restores values, gradients, data layers and what other layers carry as it
  /// left them, although a later one was submitted.
  void go_back(int64_t iter);

  /// Whether the host has no work within an iteration, so that the next one may be submitted before this one is read.
  bool runs_ahead() const { return net_.stages_all_host_work(); }

  /// Whether a gradient that is not finite changes the loss scale instead of ending the training.
  bool scales_loss() const { return update_.loss_scale() != nullptr; }
  /// The state after all submitted work.
  StepState state();
  void set_state(const StepState& state) { update_.write(state); }

 private:
  using Positions = std::vector<std::pair<std::string, uint64_t>>;

  static int slot(int64_t iter) { return int(iter % 2); }
  bool is_one_graph() const { return plan_.passes() == 1 && net_.stages_all_host_work(); }
  void begin(int64_t iter);
  void stage(uint64_t number);
  void pass(int k, GradientReader* reader = nullptr);
  void run_shard(uint64_t first_pass, bool verbose, GradientReader* reader);
  void run_shards(uint64_t first_pass, bool verbose, int requests);

  const IterationPlan& plan_;
  Net& net_;
  CarriedStates& carried_;
  DeviceUpdate update_;
  std::optional<DeviceShards> shards_;  ///< if an iteration has several
  CapturedWork iteration_, first_pass_, more_passes_, update_work_;
  int64_t latest_ = -1;  ///< the latest submitted iteration
  Positions before_[2];  ///< of the data layers, before each of the latest two iterations
};

}  // namespace cortado

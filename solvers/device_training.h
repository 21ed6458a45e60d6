#pragma once

// One iteration of training on a device: data are brought there, then everything from forward to the update runs
// without the host. Where an iteration has one pass it is recorded as one CUDA graph, else as several: of the first
// pass, of the others, of the update. The host need not wait for an iteration before it tells the device the next one:
// what became of it, its loss first of all, is seen() later. Where ranks share an iteration, its last pass is not
// recorded: gradients are sent as they come.

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
  /// As DeviceUpdate.
  DeviceTraining(const IterationPlan& plan, Net& net, const std::vector<WeightStep>& entries,
                 const RankShare& share = {});

  /// As DeviceShards. Nothing where an iteration has one shard.
  void connect(const std::string& engine);

  /// Tells the device an iteration: forward and backward of all its passes, the update. Iterations are told in order,
  /// and seen() in order, the one before the latest at the latest. `verbose`: the net logs debug_info's lines, so
  /// nothing is recorded. Waits for data, and where layers work on the host. `requests`: of this rank, to be told the
  /// others.
  void tell(int64_t iter, const StepRates& rates, bool verbose, int requests = 0);
  /// The same in two. In between state() has the loss.
  void run_passes(int64_t iter, bool verbose, int requests = 0);
  void update(int64_t iter, const StepRates& rates);

  /// The state that an iteration left, and waits for it, not for one after it. Its loss or gradients may not be finite,
  /// and then neither it nor one that was told since has updated anything.
  StepState seen(int64_t iter);
  /// tell() and seen() at once.
  StepState iterate(int64_t iter, const StepRates& rates, bool verbose);
  /// Where `iter` updated nothing: values, gradients and data layers as it left them, although one more was told.
  void go_back(int64_t iter);

  /// Whether the host has nothing to do within an iteration, so that another one may be told before this one is seen.
  bool runs_ahead() const { return net_.stages_all_host_work(); }

  /// Whether a gradient that is not finite is a reason to scale the loss otherwise, not to stop.
  bool scales_loss() const { return update_.loss_scale() != nullptr; }
  /// As it is once all work is done.
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
  DeviceUpdate update_;
  std::optional<DeviceShards> shards_;  ///< where an iteration has several
  CapturedWork iteration_, first_pass_, more_passes_, update_work_;
  int64_t latest_ = -1;  ///< that was told
  Positions before_[2];  ///< of data layers, before each of the latest two
};

}  // namespace cortado

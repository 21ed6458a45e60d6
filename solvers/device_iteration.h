#pragma once

// Iterations on a device. The host submits an iteration before it reads the result of the previous one, unless
// something needs that result: a display, a test, a snapshot, the rate, a request, the end. Progress counts iterations
// whose result was read, so the order of everything else is the same as without this overlap.

#include <optional>
#include <string>

#include "solvers/device_training.h"
#include "solvers/iteration.h"

namespace cortado {

class DeviceIteration : public Iteration {
 public:
  DeviceIteration(TrainState& state, Observers& observers);

  bool is_unseen() const override { return in_flight_.has_value(); }
  void see() override;
  void connect(const std::string& engine) override { device_.connect(engine); }
  /// The state of loss scaling.
  void save(caffe::TrainingState& training) override;
  void load(const caffe::TrainingState& training) override;

 private:
  void run(int asked, bool looked_at) override;
  void update(const StepRates& rates) override;
  void tell(int64_t iter, bool verbose, int asked);
  void run_after_loss(bool verbose, int asked);
  void require_good(const StepState& step);

  DeviceTraining device_;
  /// The rate of the submitted iteration whose result the host has not read; the iteration's number is iter().
  std::optional<float> in_flight_;
};

}  // namespace cortado

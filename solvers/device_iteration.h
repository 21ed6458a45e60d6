#pragma once

// Iterations on a device. It is told one before the host sees what became of the one before, unless something looks at
// that one: a display, a test, a snapshot, the rate, a request, the end. Progress counts iterations that were seen, so
// all but the telling happens in the order in which it would happen without.

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
  /// How the loss is scaled.
  void save(caffe::TrainingState& training) override;
  void load(const caffe::TrainingState& training) override;

 private:
  void run(int asked, bool looked_at) override;
  void update(const StepRates& rates) override;
  void tell(int64_t iter, bool verbose, int asked);
  void run_after_loss(bool verbose, int asked);
  void require_good(const StepState& step);

  DeviceTraining device_;
  /// The iteration that the device was told and the host has not seen, by the rate that it was told; its number is
  /// iter().
  std::optional<float> in_flight_;
};

}  // namespace cortado

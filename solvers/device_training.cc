#include "solvers/device_training.h"

namespace cortado {

DeviceTraining::DeviceTraining(const caffe::SolverParameter& config, const UpdateRule& rule, Net& net,
                               const std::vector<WeightStep>& entries)
    : config_(config), net_(net), update_(config, rule, net, entries) {
  net.scale_losses(update_.loss_scale());
}

void DeviceTraining::stage(int64_t iter, int k) {
  net_.context().pass = uint64_t(iter) * uint64_t(config_.iter_size()) + uint64_t(k);
  net_.stage();
}

void DeviceTraining::pass(int k) {
  net_.forward_staged();
  update_.add_loss(net_.loss_word(), k == 0);
  net_.backward(k > 0);
}

void DeviceTraining::begin(int64_t iter) {
  latest_ = iter;
  before_[slot(iter)] = net_.positions();
}

void DeviceTraining::run_passes(int64_t iter, bool verbose) {
  begin(iter);
  for (int k = 0; k < config_.iter_size(); ++k) {
    stage(iter, k);
    if (verbose || !net_.stages_all_host_work())
      pass(k);
    else
      (k == 0 ? first_pass_ : more_passes_).run(net_.context(), [&] { pass(k); });
  }
}

void DeviceTraining::update(int64_t iter, const StepRates& rates) {
  update_.begin(iter, rates);
  update_work_.run(net_.context(), [&] { update_.apply(); });
  update_.keep(slot(iter));
}

void DeviceTraining::tell(int64_t iter, const StepRates& rates, bool verbose) {
  if (verbose || !is_one_graph()) {
    run_passes(iter, verbose);
    return update(iter, rates);
  }
  begin(iter);
  update_.begin(iter, rates);
  stage(iter, 0);
  iteration_.run(net_.context(), [&] {
    pass(0);
    update_.apply();
  });
  update_.keep(slot(iter));
}

StepState DeviceTraining::iterate(int64_t iter, const StepRates& rates, bool verbose) {
  tell(iter, rates, verbose);
  return seen(iter);
}

/// Weights are what they were, and draws are functions of the pass: the passes make the same values again.
void DeviceTraining::go_back(int64_t iter) {
  if (latest_ == iter) return;
  for (const auto& [layer, position] : before_[slot(iter)]) net_.seek(layer, position);
  run_passes(iter, /*verbose=*/true);
}

}  // namespace cortado

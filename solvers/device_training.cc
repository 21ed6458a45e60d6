#include "solvers/device_training.h"

namespace cortado {

DeviceTraining::DeviceTraining(const IterationPlan& plan, Net& net, const std::vector<WeightStep>& entries,
                               CarriedStates& carried, const RankShare& share)
    : plan_(plan), net_(net), carried_(carried), update_(plan, net, entries) {
  net.scale_losses(update_.loss_scale());
  if (share.shards > 1) shards_.emplace(net, share, carried, update_);
}

void DeviceTraining::connect(const std::string& engine) {
  if (shards_) shards_->connect(engine);
}

void DeviceTraining::stage(uint64_t number) {
  net_.context().pass = number;
  net_.stage();
}

void DeviceTraining::pass(int k, GradientReader* reader) {
  net_.forward_staged();
  update_.add_loss(net_.loss_word(), k == 0);
  net_.backward(k > 0, reader);
}

void DeviceTraining::begin(int64_t iter) {
  latest_ = iter;
  before_[slot(iter)] = net_.positions();
  carried_.note(slot(iter));
}

/// `reader` is called during the last pass's backward.
void DeviceTraining::run_shard(uint64_t first_pass, bool verbose, GradientReader* reader) {
  for (int k = 0; k < plan_.iter_size; ++k) {
    stage(first_pass + uint64_t(k));
    if (reader && k + 1 == plan_.iter_size)
      pass(k, reader);
    else if (verbose || !net_.stages_all_host_work())
      pass(k);
    else
      (k == 0 ? first_pass_ : more_passes_).run(net_.context(), [&] { pass(k); });
  }
}

void DeviceTraining::run_shards(uint64_t first_pass, bool verbose, int requests) {
  for (int64_t index = 0; index < shards_->count(); ++index) {
    shards_->begin_shard(index);
    run_shard(first_pass + uint64_t(shards_->number(index) * plan_.iter_size), verbose, shards_->reader(index));
    shards_->end_shard(index);
  }
  shards_->end_iteration(requests, slot(latest_));
}

void DeviceTraining::run_passes(int64_t iter, bool verbose, int requests) {
  begin(iter);
  const uint64_t first_pass = uint64_t(iter) * uint64_t(plan_.passes());
  if (shards_)
    run_shards(first_pass, verbose, requests);
  else
    run_shard(first_pass, verbose, nullptr);
}

void DeviceTraining::update(int64_t iter, const StepRates& rates) {
  update_.begin(iter, rates);
  update_work_.run(net_.context(), [&] { update_.apply(); });
  update_.keep(slot(iter));
}

void DeviceTraining::tell(int64_t iter, const StepRates& rates, bool verbose, int requests) {
  if (verbose || !is_one_graph()) {
    run_passes(iter, verbose, requests);
    return update(iter, rates);
  }
  begin(iter);
  update_.begin(iter, rates);
  stage(uint64_t(iter));
  iteration_.run(net_.context(), [&] {
    pass(0);
    update_.apply();
  });
  update_.keep(slot(iter));
}

StepState DeviceTraining::seen(int64_t iter) {
  if (shards_) shards_->wait(slot(iter));
  return update_.seen(slot(iter));
}

StepState DeviceTraining::state() {
  if (shards_ && latest_ >= 0) shards_->wait(slot(latest_));
  return update_.read();
}

StepState DeviceTraining::iterate(int64_t iter, const StepRates& rates, bool verbose) {
  tell(iter, rates, verbose);
  return seen(iter);
}

/// The weights have not changed, and random draws depend only on the pass, so rerunning the passes computes the same
/// values.
void DeviceTraining::go_back(int64_t iter) {
  if (latest_ == iter) return;
  for (const auto& [layer, position] : before_[slot(iter)]) net_.seek(layer, position);
  carried_.recall(slot(iter));
  run_passes(iter, /*verbose=*/true);
}

}  // namespace cortado

#include "solvers/train_state.h"

#include "net/epoch.h"
#include "solvers/layer_states.h"
#include "solvers/run_conditions.h"

namespace cortado {

namespace {

constexpr const char* kNetName = "train";  // in snapshots

/// What this rank updates; nothing where it updates all of the weights.
std::optional<std::vector<ranks::FloatRange>> own_slices(const caffe::SolverParameter& config, Net& net,
                                                         const RankShare& share) {
  if (!share.engine || share.shards == 1 || !updates_by_slices(config, net.context())) return {};
  return ranks::slices_of(gradient_parts(net), share.engine->rank(), share.ranks());
}

}  // namespace

TrainState::TrainState(const caffe::SolverParameter& config, Net& net, const RankShare& share)
    : config(config),
      net(net),
      share(share),
      schedule(config),
      window(config.average_loss()),
      update(config, net, own_slices(config, net, share)) {
  if (config.ema_decay() > 0) average.emplace(config, net);
  if (!net.context().shares_host_memory()) device.emplace(config, update.rule(), net, update.entries(), share);
  if (config.local_steps() > 1)
    local.emplace(config, net, share, update);
  else if (share.shards > 1 && !device)
    shards.emplace(config, net, share, update);
  progress.max_iter = config.max_iter();
  progress.images_per_iter = net.batch_size() * passes_per_iteration(config);
  progress.records = records_if_known(net.plan().graph);
}

void TrainState::take_loss(double loss) {
  progress.loss = loss;
  window.add(float(loss));
  progress.smoothed_loss = window.smoothed();
}

StepRates TrainState::next_rates(int64_t iter) {
  const StepRates rates = schedule.next(iter, progress.smoothed_loss);
  progress.rate = rates.rate;
  return rates;
}

void TrainState::save(caffe::SolverState& state) {
  state.set_iter(int(progress.iter));
  LearningRate& rate = schedule.rate();
  state.set_current_step(rate.current_step());
  if (rate.is_plateau()) {
    state.set_minimum_loss(rate.plateau().least());
    state.set_iter_last_event(int(rate.plateau().last_event()));
  }
  save_training(*state.mutable_training());
}

void TrainState::save_training(caffe::TrainingState& training) {
  training.set_pass(pass(0));
  if (share.shards > 1) training.set_shards(int(share.shards));
  save_layer_states(net, kNetName, training);
  for (const float loss : window.recent()) training.add_recent_losses(loss);
  training.set_smoothed_loss(window.smoothed());
  if (device && net.context().precision == Precision::kFp16) {
    const StepState step = device->state();
    training.set_loss_scale(step.loss_scale);
    training.set_good_steps(step.good_steps);
    training.set_skipped_steps(step.skipped);
  }
  update.save_memory(training);
  if (average) average->save(training);
  if (local) local->save(training);
}

void TrainState::load(const Snapshot& snapshot) {
  net.load_weights(snapshot.weights, snapshot.weights_path);
  net.require_weights();
  update.load(snapshot.state.history(), snapshot.state_path);
  if (local) local->load_histories(snapshot.state, snapshot.state_path);
  load_head(snapshot.state);
}

void TrainState::load_head(const caffe::SolverState& state) {
  progress.iter = state.iter();
  LearningRate& rate = schedule.rate();
  rate.set_current_step(state.current_step());
  if (state.has_minimum_loss()) rate.plateau().restore(state.minimum_loss(), state.iter_last_event());
  if (state.has_training()) load_training(state.training());
}

void TrainState::load_training(const caffe::TrainingState& training) {
  window.restore({training.recent_losses().begin(), training.recent_losses().end()}, training.smoothed_loss());
  progress.smoothed_loss = window.smoothed();
  load_layer_states(training, kNetName, net);
  update.load_memory(training);
  if (local) local->load(training);
  if (!device || !training.has_loss_scale()) return;
  StepState step;
  step.loss_scale = training.loss_scale();
  step.good_steps = training.good_steps();
  step.skipped = training.skipped_steps();
  device->set_state(step);
}

}  // namespace cortado

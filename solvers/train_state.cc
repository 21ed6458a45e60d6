#include "solvers/train_state.h"

#include <cmath>

#include "net/epoch.h"
#include "solvers/run_conditions.h"

namespace cortado {

namespace {

constexpr const char* kNetName = "train";  // in snapshots

/// The slices that this rank updates; nothing if it updates all weights.
std::optional<std::vector<ranks::FloatRange>> own_slices(const IterationPlan& plan, Net& net, const RankShare& share) {
  if (!share.engine || share.shards == 1 || !plan.updates_by_slices(net.context())) return {};
  return ranks::slices_of(gradient_parts(net), share.engine->rank(), share.ranks());
}

}  // namespace

TrainState::TrainState(const SolverConfig& config, Net& net, const RankShare& share)
    : config(config),
      net(net),
      share(share),
      schedule(config.schedule),
      window(config.average_loss),
      update(config.iteration, net, own_slices(config.iteration, net, share)),
      carried(net, share) {
  if (config.ema_decay > 0) average.emplace(config.ema_decay, config.ema_warmup, net);
  progress.max_iter = config.max_iter;
  progress.images_per_iter = net.batch_size() * config.iteration.passes();
  progress.records = records_if_known(net.plan().graph);
}

void TrainState::prove_snapshot() {
  if (newest_snapshot == progress.iter) proven_snapshot = newest_snapshot;
}

void TrainState::take_loss(double loss) {
  if (std::isfinite(loss)) prove_snapshot();
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
  save_positions(net, kNetName, training);
  for (const float loss : window.recent()) training.add_recent_losses(loss);
  training.set_smoothed_loss(window.smoothed());
  update.save_memory(training);
  if (average) average->save(training);
}

void TrainState::save_carried(caffe::TrainingState& training) const { carried.save(kNetName, training); }

void TrainState::load(const Snapshot& snapshot) {
  net.load_weights(snapshot.weights, snapshot.weights_path);
  net.require_weights();
  update.load(snapshot.state.history(), snapshot.state_path);
  load_head(snapshot.state);
  if (snapshot.exact()) carried.load(snapshot.state.training(), kNetName);
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
  load_positions(training, kNetName, net);
  update.load_memory(training);
}

}  // namespace cortado

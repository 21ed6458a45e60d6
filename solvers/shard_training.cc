#include "solvers/shard_training.h"

namespace cortado {

ShardTraining::ShardTraining(TrainState& state, Observers& observers)
    : Iteration(state, observers),
      passes_(state.config.iteration.iter_size),
      gradients_(net_.gradient_memory()),
      kept_(net_, state.share),
      gradient_sums_(net_.context(), int64_t(gradients_.size()), state.share.range),
      completed_(net_) {
  if (state.share.engine) exchange_.emplace(*state.share.engine, state.share.shards);
}

/// The loss is checked after all ranks have the losses of all shards, so that either all ranks continue or none does.
void ShardTraining::run(int asked, bool /*looked_at*/) {
  const bool display = displays();
  const ShardOutcome outcome = forward(asked);
  requests_ |= outcome.requests;
  require_finite(outcome.loss);
  state_.take_loss(outcome.loss);
  backward_and_apply(state_.next_rates(iter()), display);
  if (display) log_display();
  add_to_average();
  complete();
}

/// Runs all passes except the last one's backward.
ShardOutcome ShardTraining::forward(int asked) {
  std::vector<double> losses;
  for (shard_ = 0; shard_ < state_.share.range.count; ++shard_) {
    losses.push_back(forward_shard(shard_));
    if (is_last(shard_)) break;
    net_.backward(passes_ > 1, this);
  }
  return gather_outcome(state_.share, losses, asked);
}

/// Runs all passes of a shard except the last one's backward, and returns their mean loss.
double ShardTraining::forward_shard(int64_t index) {
  state_.carried.select(index);
  kept_.begin_shard(index);
  completed_.begin();
  double loss = 0;
  for (int64_t k = 0; k < passes_; ++k) {
    net_.context().pass = state_.pass((state_.share.range.first + index) * passes_ + k);
    net_.forward();
    loss += net_.loss();
    if (k + 1 < passes_) net_.backward(k > 0);
  }
  kept_.end_shard(index);
  return loss / double(passes_);
}

/// If ranks update slices of the weights, each slice is updated as soon as its gradients are summed, during backward.
void ShardTraining::backward_and_apply(const StepRates& rates, bool verbose) {
  rates_ = rates;
  net_.backward(passes_ > 1, this);
  if (!exchange_) gradient_sums_.finish(net_.context(), gradients_.data());
  finish_kept();
  if (!state_.update.is_sliced()) state_.update.apply(iter(), rates, verbose);
}

void ShardTraining::on_complete(size_t param) {
  completed_.on_complete(param, [&](size_t part) { add_part(completed_.parts()[part]); });
}

/// The part can be summed while backward continues.
void ShardTraining::add_part(const ranks::FloatRange& part) {
  gradient_sums_.add(net_.context(), shard_, gradients_.data(), part.begin, part.end);
  if (exchange_ && is_last(shard_))
    exchange_->start(gradient_sums_, gradients_.data(), part, state_.update.is_sliced() ? this : nullptr);
}

/// Called in the exchange's thread. Backward no longer needs the weights of complete gradients.
void ShardTraining::on_sum(const ranks::FloatRange& slice) {
  state_.update.apply_to_slice(slice, slice_context_, iter(), rates_);
}

void ShardTraining::on_gathered(const ranks::FloatRange& part, const ranks::FloatRange& slice) {
  state_.update.take_weights({part.begin, slice.begin});
  state_.update.take_weights({slice.end, part.end});
}

/// Also waits for the gradients.
void ShardTraining::finish_kept() {
  if (exchange_) {
    exchange_->start(kept_.changes(), kept_.sum(), kept_.all());
    exchange_->wait();
  } else {
    kept_.changes().finish(net_.context(), kept_.sum());
  }
  kept_.end_iteration();
}

}  // namespace cortado

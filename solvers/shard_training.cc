#include "solvers/shard_training.h"

namespace cortado {

ShardTraining::ShardTraining(const caffe::SolverParameter& config, Net& net, const RankShare& share,
                             WeightUpdate& update)
    : passes_(config.iter_size()),
      net_(net),
      update_(update),
      share_(share),
      gradients_(net.gradient_memory()),
      kept_(net, share),
      gradient_sums_(net.context(), int64_t(gradients_.size()), share.range),
      completed_(net) {
  if (share.engine) exchange_.emplace(*share.engine, share.shards);
}

ShardOutcome ShardTraining::forward(uint64_t first_pass, int requests) {
  std::vector<double> losses;
  for (shard_ = 0; shard_ < share_.range.count; ++shard_) {
    losses.push_back(forward_shard(shard_, first_pass));
    if (is_last(shard_)) break;
    net_.backward(passes_ > 1, this);
  }
  return gather_outcome(share_, losses, requests);
}

/// All of a shard's passes but the last one's backward; their mean loss.
double ShardTraining::forward_shard(int64_t index, uint64_t first_pass) {
  kept_.begin_shard(index);
  completed_.begin();
  double loss = 0;
  for (int64_t k = 0; k < passes_; ++k) {
    net_.context().pass = first_pass + uint64_t((share_.range.first + index) * passes_ + k);
    net_.forward();
    loss += net_.loss();
    if (k + 1 < passes_) net_.backward(k > 0);
  }
  kept_.end_shard(index);
  return loss / double(passes_);
}

void ShardTraining::backward_and_apply(int64_t iter, const StepRates& rates, bool verbose) {
  iter_ = iter;
  rates_ = rates;
  net_.backward(passes_ > 1, this);
  if (!exchange_) gradient_sums_.finish(net_.context(), gradients_.data());
  finish_kept();
  if (!update_.is_sliced()) update_.apply(iter, rates, verbose);
}

void ShardTraining::on_complete(size_t param) {
  completed_.on_complete(param, [&](size_t part) { add_part(completed_.parts()[part]); });
}

/// It can be summed up while backward goes on.
void ShardTraining::add_part(const ranks::FloatRange& part) {
  gradient_sums_.add(net_.context(), shard_, gradients_.data(), part.begin, part.end);
  if (exchange_ && is_last(shard_))
    exchange_->start(gradient_sums_, gradients_.data(), part, update_.is_sliced() ? this : nullptr);
}

/// By the exchange's thread. Backward is done with the weights of complete gradients.
void ShardTraining::on_sum(const ranks::FloatRange& slice) {
  update_.apply_to_slice(slice, slice_context_, iter_, rates_);
}

void ShardTraining::on_gathered(const ranks::FloatRange& part, const ranks::FloatRange& slice) {
  update_.take_weights({part.begin, slice.begin});
  update_.take_weights({slice.end, part.end});
}

/// Waits for the gradients, too.
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

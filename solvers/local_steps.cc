#include "solvers/local_steps.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/threads/threads.h"

namespace cortado {

namespace {

constexpr int64_t kWorthAThread = 1 << 15;  // floats

std::vector<std::span<float>> weight_places(Net& net) {
  std::vector<std::span<float>> places;
  for (const Param& param : net.params()) places.emplace_back(param.w, size_t(param.count));
  for (const KeptWeight& kept : net.kept_weights()) places.emplace_back(kept.values, size_t(kept.count));
  return places;
}

/// The offset of each place in the concatenation of all, and the end.
std::vector<int64_t> offsets_of(const std::vector<std::span<float>>& places) {
  std::vector<int64_t> offsets = {0};
  for (const std::span<float>& place : places) offsets.push_back(offsets.back() + int64_t(place.size()));
  return offsets;
}

}  // namespace

LocalSteps::LocalSteps(TrainState& state, Observers& observers)
    : Iteration(state, observers),
      plan_(state.config.iteration),
      updates_({&state.update}),
      places_(weight_places(net_)),
      offsets_(offsets_of(places_)),
      begin_(size_t(offsets_.back())),
      change_(begin_.size()),
      velocity_(size_t(offsets_[net_.params().size()])),
      sums_(net_.context(), offsets_.back(), state.share.range),
      list_(net_) {
  for (int64_t index = 1; index < state.share.range.count; ++index)
    updates_.push_back(more_.emplace_back(std::make_unique<WeightUpdate>(plan_, net_)).get());
  if (state.share.engine) exchange_.emplace(*state.share.engine, state.share.shards);
}

/// As for the gradients of shards, except that each shard's weights are already updated when the losses are checked.
void LocalSteps::run(int asked, bool /*looked_at*/) {
  const bool display = displays();
  const ShardOutcome outcome = run_shards(state_.next_rates(iter()), asked, display);
  requests_ |= outcome.requests;
  require_finite(outcome.loss);
  state_.take_loss(outcome.loss);
  finish();
  if (display) log_display();
  add_to_average();
  complete();
}

void LocalSteps::copy_out(std::vector<float>& to) const {
  for (size_t i = 0; i < places_.size(); ++i) std::copy(places_[i].begin(), places_[i].end(), to.data() + offsets_[i]);
}

void LocalSteps::copy_in(const std::vector<float>& from) {
  for (size_t i = 0; i < places_.size(); ++i)
    std::copy_n(from.data() + offsets_[i], places_[i].size(), places_[i].data());
}

/// Runs all passes and updates of this rank's shards. Afterwards the net has the last shard's weights.
ShardOutcome LocalSteps::run_shards(const StepRates& rates, int asked, bool verbose) {
  copy_out(begin_);
  std::vector<double> losses;
  for (int64_t index = 0; index < state_.share.range.count; ++index) {
    if (index > 0) copy_in(begin_);
    losses.push_back(run_shard(index, rates, verbose && index == 0));
    copy_out(change_);
    for (size_t i = 0; i < change_.size(); ++i) change_[i] -= begin_[i];
    sums_.add(net_.context(), index, change_.data());
  }
  return gather_outcome(state_.share, losses, asked);
}

/// The mean loss of the shard's passes. Stops early at a loss that is not finite.
double LocalSteps::run_shard(int64_t index, const StepRates& rates, bool verbose) {
  state_.carried.select(index);
  const int64_t steps = plan_.local_steps, first = (state_.share.range.first + index) * plan_.passes_of_shard();
  double loss = 0;
  for (int64_t h = 0; h < steps && std::isfinite(loss); ++h)
    loss +=
        run_step(*updates_[size_t(index)], first + h * plan_.iter_size, iter() * steps + h, rates, verbose && h == 0);
  return loss / double(plan_.passes_of_shard());
}

/// Runs iter_size passes and updates the weights by their mean gradient, unless the loss is not finite. Returns the sum
/// of the losses.
double LocalSteps::run_step(WeightUpdate& update, int64_t first_pass, int64_t number, const StepRates& rates,
                            bool verbose) {
  double loss = 0;
  for (int k = 0; k < plan_.iter_size; ++k) {
    net_.context().pass = state_.pass(first_pass + k);
    net_.forward();
    loss += net_.loss();
    if (!std::isfinite(loss)) return loss;
    net_.backward(k > 0);
  }
  update.apply(number, rates, verbose);
  return loss;
}

/// Sums change_ over all shards.
void LocalSteps::sum_up() {
  if (!exchange_) {
    std::copy_n(ranks::sum_of_all(net_.context(), sums_), sums_.floats(), change_.data());
    return;
  }
  for (int64_t begin = 0; begin < sums_.floats(); begin += kExchangedPart)
    exchange_->start(sums_, change_.data(), {begin, std::min(begin + kExchangedPart, sums_.floats())});
  exchange_->wait();
}

/// The outer update of the common weights.
void LocalSteps::finish() {
  sum_up();
  const float rate = plan_.outer_lr, momentum = plan_.outer_momentum, shards = float(state_.share.shards);
  const int64_t learned = int64_t(velocity_.size());
  parallel_ranges(net_.context(), int64_t(change_.size()), kWorthAThread, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float mean = change_[size_t(i)] / shards;
      if (i >= learned) {
        change_[size_t(i)] = begin_[size_t(i)] + mean;
        continue;
      }
      float& velocity = velocity_[size_t(i)];
      velocity = momentum * velocity - mean;
      change_[size_t(i)] = begin_[size_t(i)] - rate * (momentum * velocity - mean);
    }
  });
  copy_in(change_);
}

void LocalSteps::gather_histories() {
  if (!state_.share.engine) return;
  std::vector<std::byte> own;
  for (WeightUpdate* update : updates_) {
    const std::span<std::byte> history = update->history_memory();
    own.insert(own.end(), history.begin(), history.end());
  }
  if (state_.share.is_first()) all_histories_.resize(size_t(state_.share.shards) * history_bytes());
  gather_shards(state_.share, history_bytes(), own.data(), all_histories_.data());
}

void LocalSteps::share_histories() {
  std::vector<std::byte> own(updates_.size() * history_bytes());
  if (state_.share.is_first()) all_histories_.resize(size_t(state_.share.shards) * history_bytes());
  deal_shards(state_.share, history_bytes(), all_histories_.data(), own.data());
  drop_histories();
  for (size_t i = 0; i < updates_.size(); ++i)
    std::memcpy(updates_[i]->history_memory().data(), own.data() + i * history_bytes(), history_bytes());
}

/// Only on the first rank. A single process uses the histories in place.
std::span<std::byte> LocalSteps::history_of(int64_t shard) {
  if (!state_.share.engine) return updates_[size_t(shard)]->history_memory();
  return {all_histories_.data() + size_t(shard) * history_bytes(), history_bytes()};
}

float* LocalSteps::velocity_of(size_t blob) {
  const int param = list_.param(blob);
  return param < 0 ? nullptr : velocity_.data() + offsets_[size_t(param)];
}

void LocalSteps::save(caffe::TrainingState& training) {
  for (size_t k = 0; k < list_.size(); ++k) list_.save(k, velocity_of(k), *training.add_outer_velocity());
}

void LocalSteps::load(const caffe::TrainingState& training) {
  if (size_t(training.outer_velocity_size()) != list_.size()) return;
  for (size_t k = 0; k < list_.size(); ++k)
    list_.load(k, training.outer_velocity(int(k)), velocity_of(k), "outer velocity " + std::to_string(k));
}

void LocalSteps::save_histories(caffe::TrainingState& training) {
  WeightUpdate one(plan_, net_);
  for (int64_t shard = 1; shard < state_.share.shards; ++shard) {
    std::memcpy(one.history_memory().data(), history_of(shard).data(), history_bytes());
    for (size_t blob = 0; blob < one.history_blobs(); ++blob) one.save(blob, *training.add_shard_history());
  }
}

void LocalSteps::load_histories(const caffe::SolverState& state, const std::string& path) {
  WeightUpdate one(plan_, net_);
  const auto& others = state.training().shard_history();
  const int64_t blobs = int64_t(one.history_blobs()), known = blobs > 0 ? 1 + others.size() / blobs : 1;
  if (state_.share.engine) all_histories_.resize(size_t(state_.share.shards) * history_bytes());
  for (int64_t shard = 0; shard < state_.share.shards; ++shard) {
    const int64_t from = shard % known;
    google::protobuf::RepeatedPtrField<caffe::BlobProto> history = state.history();
    for (int64_t k = 0; from > 0 && k < blobs; ++k) *history.Mutable(int(k)) = others.Get(int((from - 1) * blobs + k));
    one.load(history, path);
    std::memcpy(history_of(shard).data(), one.history_memory().data(), history_bytes());
  }
}

}  // namespace cortado

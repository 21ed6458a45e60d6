#include <algorithm>

#include "core/loops/for_each.h"
#include "ranks/open_engine.h"
#include "solvers/device_shards.h"

namespace cortado {

namespace {

struct PutRequests {
  float* word;
  float requests;
  CORTADO_HD void operator()(int64_t) const { *word = requests; }
};

struct TakeLoss {
  float* word;
  const StepState* state;
  CORTADO_HD void operator()(int64_t) const { *word = state->loss; }
};

/// Adds the losses in the order of shards, independent of the ranks that computed them.
struct PutOutcome {
  StepState* state;
  const float* words;
  const char* are_requests;
  int64_t count, shards;
  CORTADO_HD void operator()(int64_t) const {
    double loss = 0;
    int32_t requests = 0;
    for (int64_t i = 0; i < count; ++i)
      if (are_requests[i])
        requests |= int32_t(words[i]);
      else
        loss += words[i];
    state->loss = float(loss / double(shards));
    state->requests = requests;
  }
};

int64_t longest(const std::vector<ranks::FloatRange>& parts) {
  int64_t most = 0;
  for (const ranks::FloatRange& part : parts) most = std::max(most, part.count());
  return most;
}

}  // namespace

DeviceShards::DeviceShards(Net& net, const RankShare& share, CarriedStates& carried, DeviceUpdate& update)
    : context_(net.context()),
      share_(share),
      carried_(carried),
      update_(update),
      gradients_(net.gradient_memory()),
      kept_(net, share),
      gradient_sums_(context_, int64_t(gradients_.size()), share.range),
      completed_(net) {
  make_words();
}

void DeviceShards::make_words() {
  std::vector<char> are_requests;
  for (int rank = 0; rank < share_.ranks(); ++rank) {
    word_at_.push_back(are_requests.size() * sizeof(float));
    are_requests.push_back(1);
    are_requests.resize(are_requests.size() + size_t(ranks::range_of(rank, share_.ranks(), share_.shards).count));
  }
  word_at_.push_back(are_requests.size() * sizeof(float));
  words_ = DeviceMemory(context_, word_at_.back());
  are_requests_ = DeviceMemory(context_, are_requests.size());
  copy_to_device(context_, are_requests_.data(), are_requests.data(), are_requests.size());
}

void DeviceShards::connect(const std::string& engine) {
  if (share_.ranks() == 1) return;
  engine_ = ranks::open_device_engine(*share_.engine, context_, engine);
  exchange_.emplace(context_, *engine_, *share_.engine, share_.shards,
                    std::max(longest(completed_.parts()), kept_.all().count()));
}

void DeviceShards::begin_shard(int64_t index) {
  carried_.select(index);
  kept_.begin_shard(index);
  completed_.begin();
}

/// If ranks exchange gradients, the last pass overlaps with the exchange.
GradientReader* DeviceShards::reader(int64_t index) { return exchange_ && index + 1 == count() ? this : nullptr; }

void DeviceShards::on_complete(size_t param) {
  completed_.on_complete(param, [&](size_t part) { add_gradients(completed_.parts()[part]); });
}

void DeviceShards::add_gradients(const ranks::FloatRange& part) {
  gradient_sums_.add(context_, count() - 1, gradients_.data(), part.begin, part.end);
  exchange_->start(gradient_sums_, gradients_.data(), part);
}

void DeviceShards::end_shard(int64_t index) {
  kept_.end_shard(index);
  if (!reader(index)) gradient_sums_.add(context_, index, gradients_.data());
  for_each(context_, 1, TakeLoss{own_words() + 1 + index, update_.state()});
}

void DeviceShards::end_iteration(int requests, int slot) {
  for_each(context_, 1, PutRequests{own_words(), float(requests)});
  if (exchange_) {
    exchange_->start(kept_.changes(), kept_.sum(), kept_.all());
    exchange_->gather(words_.data(), word_at_);
    exchange_->finish();
  } else {
    gradient_sums_.finish(context_, gradients_.data());
    kept_.changes().finish(context_, kept_.sum());
  }
  kept_.end_iteration();
  for_each(context_, 1,
           PutOutcome{update_.state(), words(), reinterpret_cast<const char*>(are_requests_.data()),
                      int64_t(word_at_.back() / sizeof(float)), share_.shards});
  ended_[slot].mark(context_);
}

void DeviceShards::wait(int slot) {
  if (engine_) engine_->wait(ended_[slot]);
}

}  // namespace cortado

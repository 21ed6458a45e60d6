#include "solvers/carried_states.h"

#include <algorithm>

#include "core/log.h"
#include "core/text/text.h"

namespace cortado {

namespace {

int64_t floats_of(const std::vector<CarriedValues>& layers) {
  int64_t sum = 0;
  for (const CarriedValues& layer : layers) sum += int64_t(layer.values.size());
  return sum;
}

/// What `training` has of a layer; an empty one if it has nothing.
const caffe::LayerState& state_of(const caffe::TrainingState& training, const std::string& net,
                                  const std::string& layer) {
  for (const caffe::LayerState& state : training.layer())
    if (state.net() == net && state.layer() == layer) return state;
  return caffe::LayerState::default_instance();
}

void warn_of_zeros(const std::string& layer, const std::string& net, int64_t missing, int64_t shards) {
  const bool all = missing == shards;
  log_warning() << "The snapshot has no state of layer '" << layer << "' (" << net << ")"
                << (all ? "" : " for " + count_of(missing, "shard", "shards") + " of " + std::to_string(shards))
                << ": it starts with zeros" << (all ? "" : " there")
                << ", so the resumed training is not bit for bit the same";
}

}  // namespace

CarriedStates::CarriedStates(Net& net, const RankShare& share)
    : context_(net.context()), share_(share), layers_(net.carried_values()), floats_(floats_of(layers_)) {
  if (share.range.count > 1) stored_ = DeviceMemory(context_, size_t(share.range.count) * bytes_of_shard());
}

/// Calls visit(place, at, bytes) for each layer and each of this rank's shards: where the values are now, and their
/// offset in floats among all of this rank's.
template <typename Visit>
void CarriedStates::for_each_place(const Visit& visit) {
  int64_t at = 0;
  for (int64_t index = 0; index < share_.range.count; ++index)
    for (const CarriedValues& layer : layers_) {
      visit(index == selected_ ? layer.values.data() : stored() + at, at, layer.values.size_bytes());
      at += int64_t(layer.values.size());
    }
}

void CarriedStates::select(int64_t index) {
  if (index == selected_ || floats_ == 0) return;
  float *put = stored() + selected_ * floats_, *take = stored() + index * floats_;
  for (const CarriedValues& layer : layers_) {
    copy_on_device(context_, put, layer.values.data(), layer.values.size_bytes());
    copy_on_device(context_, layer.values.data(), take, layer.values.size_bytes());
    put += layer.values.size(), take += layer.values.size();
  }
  selected_ = index;
}

void CarriedStates::note(int slot) {
  if (floats_ == 0) return;
  DeviceMemory& memory = noted_[slot];
  if (memory.bytes() == 0) memory = DeviceMemory(context_, size_t(share_.range.count) * bytes_of_shard());
  for_each_place([&](const float* place, int64_t at, size_t bytes) {
    copy_on_device(context_, reinterpret_cast<float*>(memory.data()) + at, place, bytes);
  });
}

void CarriedStates::recall(int slot) {
  const float* from = reinterpret_cast<const float*>(noted_[slot].data());
  for_each_place([&](float* place, int64_t at, size_t bytes) { copy_on_device(context_, place, from + at, bytes); });
}

std::vector<float> CarriedStates::read_own() {
  std::vector<float> own(size_t(share_.range.count * floats_));
  for_each_place(
      [&](const float* place, int64_t at, size_t bytes) { copy_to_host(context_, &own[size_t(at)], place, bytes); });
  return own;
}

void CarriedStates::write_own(const float* values) {
  for_each_place([&](float* place, int64_t at, size_t bytes) { copy_to_device(context_, place, values + at, bytes); });
}

void CarriedStates::gather() {
  if (floats_ == 0) return;
  std::vector<float> own = read_own();
  if (!share_.engine) {
    all_ = std::move(own);
    return;
  }
  if (share_.is_first()) all_.resize(size_t(share_.shards * floats_));
  gather_shards(share_, bytes_of_shard(), own.data(), all_.data());
}

void CarriedStates::distribute() {
  if (floats_ == 0) return;
  std::vector<float> own(size_t(share_.range.count * floats_));
  if (share_.is_first()) all_.resize(size_t(share_.shards * floats_));
  deal_shards(share_, bytes_of_shard(), all_.data(), own.data());
  drop();
  write_own(own.data());
}

void CarriedStates::save(const std::string& net, caffe::TrainingState& training) const {
  const float* from = all_.data();
  for (const CarriedValues& layer : layers_) {
    caffe::LayerState& state = *training.add_layer();
    state.set_net(net);
    state.set_layer(layer.layer);
    for (int64_t shard = 0; shard < share_.shards; ++shard) {
      const float* values = from + shard * floats_;
      state.add_values()->mutable_data()->Add(values, values + layer.values.size());
    }
    from += layer.values.size();
  }
}

void CarriedStates::load(const caffe::TrainingState& training, const std::string& net) {
  all_.assign(size_t(share_.shards * floats_), 0);
  float* to = all_.data();
  for (const CarriedValues& layer : layers_) {
    const caffe::LayerState& state = state_of(training, net, layer.layer);
    int64_t missing = 0;
    for (int64_t shard = 0; shard < share_.shards; ++shard)
      if (shard < state.values_size() && size_t(state.values(int(shard)).data_size()) == layer.values.size())
        std::copy_n(state.values(int(shard)).data().data(), layer.values.size(), to + shard * floats_);
      else
        ++missing;
    if (missing > 0) warn_of_zeros(layer.layer, net, missing, share_.shards);
    to += layer.values.size();
  }
  write_own(all_.data() + share_.range.first * floats_);
  if (!share_.engine) drop();
}

}  // namespace cortado

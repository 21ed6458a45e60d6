#include "solvers/layer_states.h"

#include "core/device/device_memory.h"
#include "core/log.h"

namespace cortado {

namespace {

const caffe::BlobProto* values_of(const caffe::TrainingState& training, const std::string& net,
                                  const CarriedValues& carried) {
  for (const caffe::LayerState& layer : training.layer())
    if (layer.net() == net && layer.layer() == carried.layer && layer.values_size() == 1 &&
        size_t(layer.values(0).data_size()) == carried.values.size())
      return &layer.values(0);
  return nullptr;
}

}  // namespace

void save_layer_states(Net& net, const std::string& name, caffe::TrainingState& training) {
  for (const auto& [layer, position] : net.positions()) {
    caffe::DataPosition& data = *training.add_data();
    data.set_net(name);
    data.set_layer(layer);
    data.set_position(position);
    data.set_seed(net.context().seed);
  }
  for (const CarriedValues& carried : net.carried_values()) {
    caffe::LayerState& state = *training.add_layer();
    state.set_net(name);
    state.set_layer(carried.layer);
    auto& values = *state.add_values()->mutable_data();
    values.Resize(int(carried.values.size()), 0);
    copy_to_host(net.context(), values.mutable_data(), carried.values.data(), carried.values.size_bytes());
  }
}

void load_layer_states(const caffe::TrainingState& training, const std::string& name, Net& net) {
  for (const auto& [layer, ignored] : net.positions())
    for (const caffe::DataPosition& data : training.data())
      if (data.net() == name && data.layer() == layer) net.seek(layer, data.position());
  for (const CarriedValues& carried : net.carried_values()) {
    if (const caffe::BlobProto* values = values_of(training, name, carried))
      copy_to_device(net.context(), carried.values.data(), values->data().data(), carried.values.size_bytes());
    else
      log_warning() << "The snapshot has no state of layer '" << carried.layer << "' (" << name
                    << "): it begins with zeros, so the training goes on, but not bit for bit";
  }
}

}  // namespace cortado

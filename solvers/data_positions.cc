#include "solvers/data_positions.h"

namespace cortado {

void save_positions(Net& net, const std::string& name, caffe::TrainingState& training) {
  for (const auto& [layer, position] : net.positions()) {
    caffe::DataPosition& data = *training.add_data();
    data.set_net(name);
    data.set_layer(layer);
    data.set_position(position);
    data.set_seed(net.context().seed);
  }
}

void load_positions(const caffe::TrainingState& training, const std::string& name, Net& net) {
  for (const auto& [layer, ignored] : net.positions())
    for (const caffe::DataPosition& data : training.data())
      if (data.net() == name && data.layer() == layer) net.seek(layer, data.position());
}

}  // namespace cortado

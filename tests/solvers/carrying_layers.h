#pragma once

// A layer of each type that carries values from batch to batch, in a net that learns.

#include <string>

namespace cortado {

struct CarryingLayer {
  const char *type, *options;
  const char* image = "";  ///< further axes of its bottom and top
};

inline constexpr CarryingLayer kCarryingLayers[] = {
    {"LSTM", "recurrent_param { num_output: 3 weight_filler { type: 'xavier' } }"},
    {"RNN", "recurrent_param { num_output: 3 weight_filler { type: 'xavier' } }"},
    {"Lstm", "lstm_param { num_output: 3 weight_filler { type: 'xavier' } }"},
    {"ConvLSTM", "lstm_conv_param { num_output: 3 kernel_size: 1 weight_filler { type: 'xavier' } }",
     "dim: 2 dim: 2 "}};

/// 4 steps of 2 sequences that never restart.
inline std::string net_of(const CarryingLayer& layer) {
  const std::string image = layer.image;
  return "layer { name: 'data' type: 'DummyData' top: 'x' top: 'cont' top: 'target' dummy_data_param { "
         "shape { dim: 4 dim: 2 dim: 5 " +
         image + "} shape { dim: 4 dim: 2 } shape { dim: 4 dim: 2 dim: 3 " + image +
         "} data_filler { type: 'gaussian' } data_filler { type: 'constant' value: 1 } data_filler { type: 'gaussian' "
         "} "
         "} } layer { name: 'memory' bottom: 'x' bottom: 'cont' top: 'y' type: '" +
         std::string(layer.type) + "' " + layer.options +
         " } layer { name: 'loss' type: 'EuclideanLoss' bottom: 'y' bottom: 'target' top: 'loss' }";
}

}  // namespace cortado

#pragma once

#include <string>

#include "net/net.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// Adds what the layers of `net`, which snapshots call `name` ("train", "test:0"), have besides weights: where data
/// layers stand, and what others carry from one pass to the next.
void save_layer_states(Net& net, const std::string& name, caffe::TrainingState& training);

/// The layers continue where `training` has those of net `name`. Layers whose values it lacks, or has of another size,
/// begin with zeros, with a warning.
void load_layer_states(const caffe::TrainingState& training, const std::string& name, Net& net);

}  // namespace cortado

#pragma once

#include <string>

#include "net/net.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// Adds where the data layers of `net` stand, which snapshots call `name` ("train", "test:0").
void save_positions(Net& net, const std::string& name, caffe::TrainingState& training);

/// The data layers continue where `training` says that those of net `name` stood.
void load_positions(const caffe::TrainingState& training, const std::string& name, Net& net);

}  // namespace cortado

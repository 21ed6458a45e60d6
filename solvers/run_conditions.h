#pragma once

// State of nets in a snapshot besides their weights: the positions of data layers, and the run's conditions. The
// conditions also determine the exact bits: kernels, layouts, threads, the device, the frozen layers. A resumed run
// uses the snapshot's kernels and compares the other conditions. carried_states.h has the state of other layers.

#include <string>

#include "net/net.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// The names of layers whose weights could learn but do not, separated by commas.
std::string frozen_layers(const Net& net);

void save_conditions(Net& net, caffe::TrainingState& training);

/// Nets that are built on `context` from now on use the kernels of the run that wrote `training`, regardless of caches
/// and measurements. Does nothing if the CPU level or a library differs, because other kernels are best then.
void take_kernels(const caffe::TrainingState& training, Context& context);

/// The first difference between the libraries or CPU level of that run and the present ones; "" if there is none.
std::string difference_of_libraries(const caffe::TrainingState& training, Context& context);

/// A warning if the conditions of `net` differ from those of the run that wrote `training`; "" if they are the same. A
/// difference changes bits, not correctness.
std::string warning_of_conditions(const caffe::TrainingState& training, Net& net);

/// Saves and restores the positions of the data layers of `net`, which snapshots call `name` ("train", "test:0").
void save_positions(Net& net, const std::string& name, caffe::TrainingState& training);
void load_positions(const caffe::TrainingState& training, const std::string& name, Net& net);

}  // namespace cortado

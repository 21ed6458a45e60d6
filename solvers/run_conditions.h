#pragma once

// What a snapshot says of nets besides their weights. Where their layers stand; and the run's conditions, which decide
// its bits, too: kernels, layouts, threads, the device, the layers that learn nothing. A resumed run takes its kernels
// and compares the rest.

#include <string>

#include "net/net.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// The layers with weights that could be learned and are not, separated by commas.
std::string frozen_layers(const Net& net);

void save_conditions(Net& net, caffe::TrainingState& training);

/// Nets that are built on `context` from now on take the kernels of the run that wrote `training`, whatever a cache or
/// a measurement says; but where another CPU level or library computes, whose best kernels are others.
void take_kernels(const caffe::TrainingState& training, Context& context);

/// The first of what computed then that is another now: a library, the CPU's level; "": nothing.
std::string difference_of_libraries(const caffe::TrainingState& training, Context& context);

/// A warning where the conditions of `net` differ from those of the run that wrote `training`, which costs bits, not
/// correctness; "" where they are the same.
std::string warning_of_conditions(const caffe::TrainingState& training, Net& net);

/// Adds what the layers of `net`, which snapshots call `name` ("train", "test:0"), have besides weights: where data
/// layers stand, and what others carry from one pass to the next.
void save_layer_states(Net& net, const std::string& name, caffe::TrainingState& training);

/// The layers continue where `training` has those of net `name`. Layers whose values it lacks, or has of another size,
/// begin with zeros, with a warning.
void load_layer_states(const caffe::TrainingState& training, const std::string& name, Net& net);

}  // namespace cortado

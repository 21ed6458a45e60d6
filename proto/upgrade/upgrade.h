#pragma once

#include <string>

#include "proto/cortado.pb.h"
#include "proto/text/positions.h"

namespace cortado {

/// Turns every old way of writing a net into today's, with the same meaning, and moves the positions along: layers of
/// 2013 and 2014, transformations inside data layers' options, `input` fields, learning rates given to BatchNorm's
/// statistics. Throws Error(kNet) with every place where that cannot be done. Nets in today's form are left as they
/// are.
void upgrade_net(caffe::NetParameter& net, Positions& positions);

/// The same for a solver, whose `solver_type` becomes `type`, and the nets inside it.
void upgrade_solver(caffe::SolverParameter& solver, Positions& positions);

/// Turns the Input layer that upgrade_net() made of old `input` fields into these again, so that they can be set: with
/// input_dim where `dims` asks for them, else with input_shape. A net without such a layer stays as it is.
void restore_inputs(caffe::NetParameter& net, Positions& positions, bool dims);

/// Gives `snapshot_prefix` its default from the solver's own path ("models/lenet/solver" for
/// "models/lenet/solver.prototxt"); a folder gets the solver's name.
void set_snapshot_prefix(caffe::SolverParameter& solver, const std::string& path);

}  // namespace cortado

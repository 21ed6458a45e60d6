#pragma once

#include <string>

#include "proto/cortado.pb.h"
#include "proto/text/positions.h"

namespace cortado {

/// Converts a net of any previous format to the current one, with its positions: layers of 2013 and 2014,
/// transformations in data layers' options, `input` fields, learning rates of BatchNorm's statistics. Throws
/// Error(kNet) with every place where that is impossible. Nets in the current format are unchanged.
void upgrade_net(caffe::NetParameter& net, Positions& positions);

/// The same for a solver, whose `solver_type` becomes `type`, and the nets in it.
void upgrade_solver(caffe::SolverParameter& solver, Positions& positions);

/// Converts the Input layer that upgrade_net() made from old `input` fields back to these, so that they can be set:
/// with input_dim if `dims`, else with input_shape. A net without such a layer is unchanged.
void restore_inputs(caffe::NetParameter& net, Positions& positions, bool dims);

/// Sets the default of `snapshot_prefix` from the solver's path ("models/lenet/solver" for
/// "models/lenet/solver.prototxt"); the solver's name is appended to a folder.
void set_snapshot_prefix(caffe::SolverParameter& solver, const std::string& path);

}  // namespace cortado

#pragma once

#include <string>

#include "graph/dialect/dialect.h"

namespace cortado::dialect {

/// Removes from a layer the fields that the dialect lacks and that change nothing: those with their default value,
/// those that select implementations, and options that its type does not read. Returns what else the dialect lacks:
/// "type" or the path of a field, "pooling_param.round_mode"; "" if it has the layer.
std::string fit_layer(caffe::LayerParameter& layer, Target target);

/// Removes the fields of the net itself that the dialect lacks. None of them changes what the net computes.
void fit_net(caffe::NetParameter& net, Target target);

}  // namespace cortado::dialect

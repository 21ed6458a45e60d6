#pragma once

#include <vector>

#include "core/error.h"
#include "graph/graph.h"

namespace cortado::tools {

/// Warnings about fields of loss_param that the layer's type does not read, with their places. Caffe accepts them.
std::vector<Diagnostic> unread_field_warnings(const graph::Graph& graph);

}  // namespace cortado::tools

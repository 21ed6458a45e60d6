#pragma once

#include <optional>
#include <string>

#include "graph/graph.h"
#include "net/net.h"
#include "tools/runs/tensorboard/event_file.h"

namespace cortado::runs {

/// The net as TensorBoard draws graphs: a node for each layer of the file that takes part, with its options; edges have
/// the blobs' shapes. The bytes of a GraphDef.
std::string graph_def_of(const graph::Graph& graph);

/// The first images of the batch that the net was given, as it was given them, brought to 0 to 255 by the least and the
/// most of each; to be called within backward(), at the first gradient of a weight. None where no layer with weights
/// that learn reads images.
std::optional<EncodedImage> batch_image(Net& net);

/// The filters of the first convolution, side by side, brought to 0 to 255 all alike; none where it does not see
/// colours or grey levels.
std::optional<EncodedImage> filter_image(const Net& net);

}  // namespace cortado::runs

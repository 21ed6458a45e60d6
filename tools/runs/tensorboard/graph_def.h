#pragma once

#include <optional>
#include <string>

#include "graph/graph.h"
#include "net/net.h"
#include "tools/runs/tensorboard/event_file.h"

namespace cortado::runs {

/// The net as the bytes of a GraphDef for TensorBoard: a node with options for each layer of the file that takes part;
/// edges have the blobs' shapes.
std::string graph_def_of(const graph::Graph& graph);

/// The first images of the net's batch, as the net reads them, each scaled from its minimum and maximum to 0 to 255. To
/// be called within backward(), at the first gradient of a weight. None if no layer with learned weights reads images.
std::optional<EncodedImage> batch_image(Net& net);

/// The filters of the first convolution, side by side, with a common scale to 0 to 255. None if it does not read grey
/// or colour images.
std::optional<EncodedImage> filter_image(const Net& net);

}  // namespace cortado::runs

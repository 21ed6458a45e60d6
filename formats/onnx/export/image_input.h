#pragma once

#include <string>

#include "core/shape.h"
#include "onnx/export/graph_writer.h"
#include "proto/cortado.pb.h"

namespace cortado::exporting {

/// What a data layer does to the values of pixels, to be done by nodes. Sizes are not changed.
struct ImageInput {
  std::string file;  ///< the net that says so
  caffe::TransformationParameter transform;
  bool rgb = false;  ///< pixels come as red, green, blue
};

/// The transform_param of the net's data layer of phase TEST. Throws Error(kUsage) where it has none.
ImageInput read_image_input(const std::string& path, bool rgb);

/// Nodes from `input`, pixels from 0 to 255 of shape `shape` (N x C x H x W), to `result`, as the net wants them:
/// channels exchanged, the mean subtracted, scaled. Throws Error(kData) for a mean that does not fit.
void write_image_input(GraphWriter& graph, const ImageInput& image, const Shape& shape, const std::string& input,
                       const std::string& result);

}  // namespace cortado::exporting

#pragma once

#include <string>

#include "core/shape.h"
#include "onnx/export/graph_writer.h"
#include "proto/cortado.pb.h"

namespace cortado::exporting {

/// The preprocessing of a data layer as nodes: only pixel values change, not sizes.
struct ImageInput {
  std::string file;  ///< the net with the data layer
  caffe::TransformationParameter transform;
  bool rgb = false;  ///< the input is RGB, not BGR
};

/// The transform_param of the net's data layer of phase TEST. Throws Error(kUsage) if it has none.
ImageInput read_image_input(const std::string& path, bool rgb);

/// Adds nodes from `input`, pixels from 0 to 255 of shape `shape` (N x C x H x W), to `result`: exchange channels,
/// subtract the mean, scale. Throws Error(kData) for a mean that does not fit.
void write_image_input(GraphWriter& graph, const ImageInput& image, const Shape& shape, const std::string& input,
                       const std::string& result);

}  // namespace cortado::exporting

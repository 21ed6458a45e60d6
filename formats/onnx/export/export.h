#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/shape.h"
#include "onnx/schema.h"
#include "proto/cortado.pb.h"

namespace cortado::exporting {

struct ExportRequest {
  std::string net;
  std::vector<std::string> weights;     ///< files, copied in this order
  caffe::NetState state;                ///< level and stages; the phase is TEST
  std::map<std::string, Shape> shapes;  ///< of inputs, where neither the net nor its dataset tells them
  std::vector<std::string> outputs;     ///< blobs that the model ends with; none: what `cortado deploy` finds
  bool fold = false;                    ///< normalisations go into the filters before them
  bool for_opencv = false;              ///< operators that OpenCV's dnn (4.6) knows in place of some that it does not
  std::string like;                     ///< the net whose data layer prepares images; "": the model takes what it does
  bool rgb = false;                     ///< with `like`: pixels come as red, green, blue
};

/// The deployed net with its weights as a model of opset 17, whose batch may have any size where the net allows it.
/// Throws Error: kNet with every layer that cannot be written and its place, kSnapshot for weights that do not fit,
/// kUsage for blobs that there are not.
onnx::ModelProto make_model(const ExportRequest& request);

}  // namespace cortado::exporting

#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/shape.h"
#include "onnx/schema.h"
#include "proto/cortado.pb.h"
#include "proto/files/override.h"

namespace cortado::exporting {

struct ExportRequest {
  std::string net;
  std::vector<std::string> weights;     ///< weight files; later ones override earlier ones
  caffe::NetState state;                ///< level and stages; the phase is TEST
  Overrides overrides;                  ///< of the net's fields
  std::map<std::string, Shape> shapes;  ///< of inputs, if neither the net nor its dataset determines them
  std::vector<std::string> outputs;     ///< output blobs; if empty, those of `cortado deploy`
  bool fold = false;                    ///< fold normalizations into the preceding filters
  std::string reader = "onnxruntime";   ///< the program that will run the model (readers.h)
  enum class Half { kNone, kWeights, kAll };
  Half half = Half::kNone;  ///< what is stored and computed as 16-bit floats
  bool int8 = false;        ///< round values and weights as quantization_param says; implies `fold`
  std::string like;         ///< the net whose data layer preprocesses images; if empty, the model has no preprocessing
  bool rgb = false;         ///< with `like`: the model's input is RGB, not BGR
};

/// Exports the deployed net with its weights to a model of opset 17, with a variable batch size if the net allows it.
/// Throws Error: kNet with the place of every layer that cannot be exported, kSnapshot for weights that do not fit,
/// kUsage for unknown blobs.
onnx::ModelProto make_model(const ExportRequest& request);

}  // namespace cortado::exporting

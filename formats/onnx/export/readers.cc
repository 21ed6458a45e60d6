#include "onnx/export/readers.h"

#include "core/error.h"
#include "core/log.h"
#include "core/text/text.h"

namespace cortado::exporting {

namespace {

constexpr const char* kDoubles = "double";
constexpr const char* kUnsigned = "uint8";
constexpr const char* kIndices = "Indices";
constexpr const char* kProductOfBlobs = "MatMul of two blobs";

/// Of OpenCV, measured with the models of tests/onnx; of TensorRT, from the list of operators of its ONNX parser.
const std::map<std::string, Reader>& all_readers() {
  static const std::map<std::string, Reader> readers = {
      {"onnxruntime", {"ONNX Runtime", {}, {}}},
      {"opencv5", {"OpenCV 5.0", {Form::kGeluByTanh}, {{"MaxRoiPool", ""}, {"Compress", ""}}}},
      {"opencv4",
       {"OpenCV 4.6",
        {Form::kClipInputs, Form::kUnequalSplit, Form::kSumInputs},
        {{"LayerNormalization", ""},
         {"Tile", ""},
         {"TopK", ""},
         {"NonMaxSuppression", ""},
         {"Mod", ""},
         {"Compress", ""},
         {"MaxRoiPool", ""},
         {"RoiAlign", ""},
         {"GridSample", ""},
         {"ScatterElements", ""},
         {"ScatterND", ""},
         {"GatherND", ""},
         {"GreaterOrEqual", ""},
         {"CumSum", ""},
         {"RNN", ""},
         {"InstanceNormalization", " (it computes wrong values)"},
         {kProductOfBlobs, " (it computes wrong values)"}}}},
      {"tensorrt",
       {"TensorRT 10",
        {},
        {{"MaxRoiPool", ""},
         {"Compress", ""},
         {kIndices, " (the second output of MaxPool)"},
         {kUnsigned, " (its integers are signed)"},
         {kDoubles, " (it computes in float32 instead)"}}}},
  };
  return readers;
}

/// What the node needs besides its operator. `constants`: the types of initializers.
std::string feature_of(const onnx::NodeProto& node, const std::map<std::string, int>& constants) {
  if (node.op_type() == "MaxPool" && node.output_size() > 1) return kIndices;
  if (node.op_type() == "MatMul" && !constants.contains(node.input(1))) return kProductOfBlobs;
  if (node.op_type() == "QuantizeLinear" && constants.at(node.input(2)) == onnx::TensorProto::UINT8) return kUnsigned;
  for (const onnx::AttributeProto& attribute : node.attribute())
    if (node.op_type() == "Cast" && attribute.i() == onnx::TensorProto::DOUBLE) return kDoubles;
  return "";
}

}  // namespace

const Reader& reader_named(const std::string& name) {
  const auto found = all_readers().find(name);
  if (found != all_readers().end()) return found->second;
  throw Error(ExitCode::kUsage, "--for=" + name + " is unknown", "use onnxruntime, opencv5, opencv4 or tensorrt");
}

void warn_of_unsupported(const Reader& reader, const onnx::GraphProto& graph) {
  std::map<std::string, std::string> first;
  std::map<std::string, int> constants;
  for (const onnx::TensorProto& tensor : graph.initializer()) constants[tensor.name()] = tensor.data_type();
  for (const onnx::NodeProto& node : graph.node())
    for (const std::string& what : {node.op_type(), feature_of(node, constants)})
      if (reader.unsupported.contains(what)) first.insert({what, node.name()});
  for (const auto& [what, node] : first)
    log_warning() << reader.title << " does not support " << what << reader.unsupported.at(what) << ", which node '"
                  << node << "' needs";
}

}  // namespace cortado::exporting

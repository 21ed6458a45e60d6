#pragma once

#include <map>
#include <string>
#include <vector>

#include "onnx/import/element_types.h"
#include "onnx/import/model_file.h"
#include "onnx/import/node_reader.h"

namespace cortado::importing {

/// The assumed batch axis of the inputs.
enum class BatchAxis {
  kNone,  ///< unknown: the net takes only the model's own batch size
  kFirst,
  kSecond  ///< of inputs that have steps first; the first axis of others
};

/// Whether an input may be steps x batch x values: its first extent is above 1, its second 1 or open.
bool has_steps_first(const onnx::TensorShapeProto& dims);

/// Reads a model once, for an assumed batch axis.
class ModelReader {
 public:
  /// `mark` is the batch size (batch.h), 0 with BatchAxis::kNone.
  ModelReader(const ModelFile& file, const ImportOptions& options, BatchAxis axis, int64_t mark);

  /// The net and its weights. Throws Error, or FieldError, if the model cannot be read this way.
  ImportedNet run();
  /// The last node, for messages; "its inputs" before the first.
  const std::string& place() const { return place_; }

 private:
  /// Resolves the names in `shapes_`.
  void take_shapes(const onnx::GraphProto& graph);
  /// The extents given for an input, or null. Throws if they contradict the model.
  const Shape* given_shape(const std::string& input, const onnx::TensorShapeProto& dims);
  /// The extents of an input; an open batch is 1 unless a shape is given.
  std::vector<int64_t> extents_of_input(const onnx::ValueInfoProto& input);
  /// The batch axis of an input, or -1. The first input determines the model's own batch size.
  int batch_axis(const onnx::TensorShapeProto& dims, const std::vector<int64_t>& extents);
  void add_input(const onnx::ValueInfoProto& input);
  /// Adds a Reshape after the input that refuses other batch sizes.
  Blob held(const Blob& input);
  void read(const onnx::NodeProto& node);
  /// Adds a layer if an output is not a blob of the same name.
  void finish_output(const std::string& name);

  const ModelFile& file_;
  std::map<std::string, Shape> shapes_;  ///< given shapes, by input
  int64_t given_batch_;                  ///< 0: the model's
  BatchAxis batch_axis_;
  bool knows_batch_ = false;
  std::string place_ = "its inputs";
  NetBuilder net_;
  Values values_;
  ElementTypes types_;
};

}  // namespace cortado::importing

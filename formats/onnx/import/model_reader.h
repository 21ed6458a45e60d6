#pragma once

#include <map>
#include <string>
#include <vector>

#include "onnx/import/model_file.h"
#include "onnx/import/node_reader.h"

namespace cortado::importing {

/// Where the inputs' batch is taken to be.
enum class BatchAxis {
  kNone,  ///< unknown: the net takes the model's own batch alone
  kFirst,
  kSecond  ///< of inputs that have steps first, of others it is the first
};

/// Whether an input may be steps x batch x values: it has many of the first and one, or any number, of the second.
bool has_steps_first(const onnx::TensorShapeProto& dims);

/// Reads a model once, taking its batch to lie somewhere.
class ModelReader {
 public:
  /// `mark` stands for the batch (batch.h); 0 with BatchAxis::kNone.
  ModelReader(const ModelFile& file, const std::map<std::string, Shape>& shapes, BatchAxis axis, int64_t mark);

  /// The net and its weights. Throws Error, or FieldError, where the model cannot be read so.
  ImportedNet run();
  /// The node that was read last, for messages; "its inputs" before the first.
  const std::string& place() const { return place_; }

 private:
  /// Every shape that was given has its input's name from here on.
  void take_shapes(const onnx::GraphProto& graph);
  /// The extents that were given for an input; they agree with those that the model has.
  const Shape* given_shape(const std::string& input, const onnx::TensorShapeProto& dims);
  /// The extents of an input; a batch that is open is 1 unless a shape is given.
  std::vector<int64_t> extents_of_input(const onnx::ValueInfoProto& input);
  /// The axis of an input that is the batch, or -1. What the first input has there is the model's own batch.
  int batch_axis(const onnx::TensorShapeProto& dims, const std::vector<int64_t>& extents);
  void add_input(const onnx::ValueInfoProto& input);
  /// The input behind a Reshape that no other batch passes.
  Blob held(const Blob& input);
  void read(const onnx::NodeProto& node);
  /// An output that is no blob of its own name gets one.
  void finish_output(const std::string& name);

  const ModelFile& file_;
  std::map<std::string, Shape> shapes_;  ///< that were given, by input
  BatchAxis batch_axis_;
  bool knows_batch_ = false;
  std::string place_ = "its inputs";
  NetBuilder net_;
  Values values_;
};

}  // namespace cortado::importing

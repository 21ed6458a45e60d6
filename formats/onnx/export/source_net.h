#pragma once

// The exported net in three forms: as written, for the places of diagnostics; as a graph of layers with the shapes of
// all values; and as a runnable net with the weights.

#include <memory>
#include <string>
#include <vector>

#include "net/net.h"
#include "onnx/export/export.h"

namespace cortado::exporting {

class SourceNet {
 public:
  explicit SourceNet(const ExportRequest& request);

  const graph::Graph& graph() const { return graph_; }
  const std::vector<std::string>& outputs() const { return outputs_; }
  /// Whether the extent of an axis is open: it grows with the batch, or it is a number of rows that depends on values.
  bool grows(graph::ValueId value, int axis) const { return grows_with_batch(value, axis) || rows_vary(value, axis); }
  bool grows_with_batch(graph::ValueId value, int axis) const;
  bool rows_vary(graph::ValueId value, int axis) const;
  /// The net with another batch, whose values and layers have the same numbers; null if it takes only its own.
  const graph::Graph* larger() const { return larger_ ? &*larger_ : nullptr; }
  /// The axis of the inputs that larger() changes: 0, or 1 for steps x sequences x values.
  int batch_axis() const { return batch_axis_; }
  /// Drops larger(), because this layer depends on the batch, and tries the next axis. With none, the batch is fixed:
  /// a warning says so.
  void drop_larger(const graph::Node& node);

  /// The place of a layer, or of one of its fields, in the prototxt.
  Place place(const std::string& layer, const std::string& field) const;
  /// The layer's message, with its weights as blobs.
  caffe::LayerParameter layer(const graph::Node& node);
  /// A layer that computes on integers in the frozen net, and the last value of what is fused with it.
  struct OnIntegers {
    std::string name;
    caffe::QuantizationParameter scales;
    graph::EightBits codes;
    graph::ValueId y;
  };
  std::vector<OnIntegers> layers_on_integers() const;
  /// The values of a constant: options or weights alone define them.
  std::vector<float> read_constant(graph::ValueId value);
  bool is_constant(graph::ValueId value) const { return constants_.at(size_t(value)); }

 private:
  void find_larger();
  bool steps_grow() const;
  void note_fixed(const graph::Node& node);
  void find_constants();
  void make_net(const ExportRequest& request);

  NetFile written_;
  std::shared_ptr<const NetFile> file_;
  std::vector<std::string> outputs_;
  graph::Graph graph_;
  std::optional<graph::Graph> larger_;  ///< with a batch size larger by one, if the net allows it
  int batch_axis_ = 0;
  std::string fixed_by_;         ///< the first layer that depends on the batch
  std::vector<bool> constants_;  ///< by value
  Context context_;
  std::unique_ptr<Net> net_;
  bool ran_ = false;
};

}  // namespace cortado::exporting

#pragma once

// The net that is exported, three times: as it was written, for the places of mistakes; as a graph of layers with the
// shapes of all values; and as a net that runs, which has the weights.

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
  /// Whether an axis of a value grows with the batch.
  bool grows(graph::ValueId value, int axis) const;
  bool batch_is_free() const { return larger_.has_value(); }

  /// Where the layer of this name was written, or one of its fields.
  Place place(const std::string& layer, const std::string& field) const;
  /// Its options, and its weights as its blobs.
  caffe::LayerParameter layer(const graph::Node& node);
  /// What a blob has after a forward pass over zeros.
  std::vector<float> read_blob(const std::string& blob);

 private:
  void make_net(const ExportRequest& request);

  NetFile written_;
  std::shared_ptr<const NetFile> file_;
  std::vector<std::string> outputs_;
  graph::Graph graph_;
  std::optional<graph::Graph> larger_;  ///< with one more in the batch; nothing where the net does not allow it
  Context context_;
  std::unique_ptr<Net> net_;
  bool ran_ = false;
};

}  // namespace cortado::exporting

#pragma once

// Builds the imported net: layers with their weights, and the shape of every blob. The layers themselves infer the
// shapes of their tops.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "onnx/import/batch.h"
#include "proto/cortado.pb.h"
#include "proto/weights/weights_file.h"

namespace cortado::importing {

struct Blob {
  std::string name;
  Shape shape;
};

/// What the model leaves open.
struct ImportOptions {
  std::map<std::string, Shape> shapes = {};  ///< by input name; "" is the only input
  int64_t batch = 0;                         ///< in the net's Input layers; 0: the model's, or 1 if it is open
};

/// A net and its weights.
struct ImportedNet {
  caffe::NetParameter net;
  std::vector<LayerWeights> weights;  ///< of the layers that have weights
  std::string own_batch_alone = {};   ///< why it takes only the model's batch size; empty if it takes any
};

class NetBuilder {
 public:
  /// A unique name for a blob or a layer: `base`, or with a suffix if that is taken.
  std::string blob_name(const std::string& base) { return unused(blobs_, base); }
  std::string layer_name(const std::string& base) { return unused(layers_, base); }

  /// Adds a layer whose name comes from layer_name() and whose tops come from blob_name(); returns its tops. Throws
  /// FieldError if its options, bottoms or weights are invalid.
  std::vector<Blob> add(caffe::LayerParameter layer, const std::vector<Blob>& bottoms, std::vector<BlobFile> weights);

  /// The shape of a top of an added layer.
  const Shape& shape_of(const std::string& blob) const { return shapes_.at(blob); }
  /// Whether the blob is an output of the model.
  bool is_output(const std::string& blob) const { return outputs.contains(blob); }

  /// A blob with the batch, and the axis of the batch.
  struct Sample {
    Blob blob;
    int axis;
  };

  ImportedNet net;
  std::optional<Sample> sample;  ///< an input of the model; none if the net takes only its own batch
  std::set<std::string> outputs;
  Batch batch;  ///< must be set before nodes are read

 private:
  static std::string unused(std::set<std::string>& names, const std::string& base);

  std::set<std::string> blobs_, layers_;
  std::map<std::string, Shape> shapes_;
};

}  // namespace cortado::importing

#pragma once

// The net that comes out: layers with their weights, and the shape of every blob. Each shape is what the layer itself
// says of its operands', so nothing about shapes is known twice.

#include <map>
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

/// A net and its weights.
struct ImportedNet {
  caffe::NetParameter net;
  std::vector<LayerWeights> weights;  ///< of the layers that have any
  std::string own_batch_alone = {};   ///< why it takes no batch but the model's; empty: it takes any
};

class NetBuilder {
 public:
  /// A name for a blob or a layer: `wanted`, or where it is taken something like it.
  std::string blob_name(const std::string& wanted) { return unused(blobs_, wanted); }
  std::string layer_name(const std::string& wanted) { return unused(layers_, wanted); }

  /// Adds a layer, whose name is layer_name()'s and whose tops are blob_name()'s; what its tops are. Throws FieldError
  /// where the layer does not take its options or operands, or weights of other shapes.
  std::vector<Blob> add(caffe::LayerParameter layer, const std::vector<Blob>& bottoms, std::vector<BlobFile> weights);

  /// Of a blob that a layer has made.
  const Shape& shape_of(const std::string& blob) const { return shapes_.at(blob); }
  /// Blobs that the model's user wants, whoever else reads them.
  bool is_output(const std::string& blob) const { return outputs.contains(blob); }

  ImportedNet net;
  std::set<std::string> outputs;
  Batch batch;  ///< of the model; set before nodes are read

 private:
  static std::string unused(std::set<std::string>& names, const std::string& wanted);

  std::set<std::string> blobs_, layers_;
  std::map<std::string, Shape> shapes_;
};

}  // namespace cortado::importing

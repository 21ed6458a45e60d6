#pragma once

// A net for drawing: blocks of layers, and the blobs between them.

#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "layers/registry.h"

namespace cortado::tools {

struct PictureBlob {
  std::string name;
  std::string shape;  ///< "64x3x224x224"; "": unknown
};

struct Block {
  std::vector<const caffe::LayerParameter*>
      layers;                     ///< the first names the block, the others are stacked on it in order
  std::vector<PictureBlob> tops;  ///< of the last layer
  int64_t params = 0;
  int64_t flops = 0;
};

/// A blob from block `from` to block `to`. Edges of one blob have the same `blob`, an index into NetPicture::blobs.
struct BlockEdge {
  int from = 0, to = 0, blob = 0;
};

struct NetPicture {
  std::shared_ptr<const NetFile> file;  ///< keeps the layers alive
  std::string name;
  caffe::Phase phase = caffe::TRAIN;
  std::vector<Block> blocks;
  std::vector<BlockEdge> edges;
  std::vector<PictureBlob> blobs;
  int layers = 0;
  bool counted = false;  ///< shapes are known, and therefore params and flops
  int64_t params = 0, flops = 0;
};

/// The family of a type that may be unknown here: of the known type whose name it contains, as BatchNorm for
/// MKLBatchNorm.
LayerFamily drawn_family(const std::string& name);

/// Blocks of the layers that the state selects. Unless `full`, a layer that reads one blob which no other layer reads,
/// and computes in place or elementwise, is stacked onto the layer that writes the blob. `shapes` is the graph of the
/// same net after infer_shapes. Null: shapes are unknown, and types and names may be invalid.
NetPicture make_picture(std::shared_ptr<const NetFile> file, const caffe::NetState& state, bool full,
                        const graph::Graph* shapes);

}  // namespace cortado::tools

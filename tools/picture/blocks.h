#pragma once

// A net as a picture shows it: blocks of layers, and the blobs that flow between them.

#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "layers/registry.h"

namespace cortado::tools {

struct PictureBlob {
  std::string name;
  std::string shape;  ///< "64x3x224x224", "" where it is not known
};

struct Block {
  std::vector<const caffe::LayerParameter*> layers;  ///< the one that names it, then those stacked on it in order
  std::vector<PictureBlob> tops;                     ///< of the last layer
  int64_t params = 0;
  int64_t flops = 0;
};

/// A blob from block `from` to block `to`; edges of one blob have one `blob`, an index into NetPicture::blobs.
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
  bool counted = false;  ///< shapes are known, so params and flops are
  int64_t params = 0, flops = 0;
};

/// Of a type that may not be known here: that of a known one which its name holds, as MKLBatchNorm's is BatchNorm's.
LayerFamily drawn_family(const std::string& name);

/// Layers that the state selects, as blocks. Unless `full`, a layer that reads one blob which no other layer reads, and
/// computes in place or element by element, is stacked onto the layer that makes it. `shapes` is the same net's graph
/// after infer_shapes; null: nothing is known of shapes, and types and names need not be right.
NetPicture make_picture(std::shared_ptr<const NetFile> file, const caffe::NetState& state, bool full,
                        const graph::Graph* shapes);

}  // namespace cortado::tools

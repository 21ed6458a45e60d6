#pragma once

// A net as nodes (layers) and the values that flow between them: the form between its file and its plan. Each value is
// written once: a blob that the file computes in place is several values of one name.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "kernels/batch_norm.h"
#include "layers/layer.h"
#include "proto/files/read_text.h"

namespace cortado::graph {

using ValueId = int;
using NodeId = int;
using WeightId = int;

/// Node `node` reads a value as its x[`input`].
struct Reader {
  NodeId node;
  int input;
  bool operator==(const Reader&) const = default;
};

struct Value {
  std::string name;  ///< the blob's name in the user's file
  Shape shape;
  bool shape_known = false;  ///< false after a data layer whose dataset was not opened
  Layout layout = Layout::kPlain;
  DType dtype = DType::kF32;
  float scale = 1;  ///< of 8-bit integers (core/tensor.h)
  NodeId producer = -1;
  int producer_output = 0;
  std::vector<Reader> readers;
  bool wants_gradient = false;  ///< depends on a weight that learns, or force_backward
  float loss_weight = 0;        ///< != 0: the loss adds the sum of its elements times this
  bool dynamic_rows = false;    ///< the number of rows depends on the values of a pass; `shape` has the largest
  bool kept = false;            ///< must stay readable after a run: net outputs, losses, requested blobs

  Encoding encoding() const { return {dtype, scale}; }
  TensorSpec spec() const { return {shape, dtype, shape.axes() == 4 ? layout : Layout::kPlain, scale}; }
};

/// One weight blob. Layers that share it by name list the same id.
struct Weight {
  NodeId owner = -1;       ///< the first node that lists it, before passes merge nodes
  std::string layer;       ///< name of the layer in the file that owns it
  int index = 0;           ///< which of that layer's blobs
  std::string share_name;  ///< of `param { name }`, or ""
  WeightSpec spec;
  float lr_mult = 1, decay_mult = 1;
  bool learns() const { return spec.learned && lr_mult != 0; }
};

/// A layer of the file, as snapshots name it, independent of the node that runs it.
struct SourceLayer {
  const caffe::LayerParameter* config;  ///< owned by the Graph's file
  std::string path;                     ///< "layer[3]", for the file's positions
  std::vector<WeightId> weights;
};

/// Encodings of x[0] and y[0] of a node that computes on 8-bit integers.
struct EightBits {
  Encoding x, y;
};

struct Node {
  std::string name;  ///< of its layer, or of all merged layers joined by '+'
  std::string type;
  std::vector<int> sources;  ///< into Graph::layers: its own first, then merged ones; empty if a pass added the node
  std::unique_ptr<Layer> layer;
  std::vector<ValueId> x, y;
  std::vector<WeightId> w;
  std::vector<bool> wants_dx;  ///< per x
  std::vector<bool> wants_dw;  ///< per w
  bool runs_backward = false;
  kernels::PostOps post;                     ///< operations merged from the nodes after it
  std::optional<EightBits> eight_bits = {};  ///< if it runs on 8-bit integers (passes/use_8_bits.cc)
  std::vector<Fusion> fusions = {};          ///< agreed with neighbours
};

/// Whether the node has no backward of its own: the producer of x[0] reads its two gradients (Graph::dy_parts).
bool leaves_sum(const Node& node);

inline StorageRule storage_of(const Node& node) { return node.layer->storage(node.post); }

struct BuildOptions {
  caffe::NetState state;             ///< of the solver or command; overrides the file's own
  bool backward = true;              ///< a training net; false: forward only
  bool frozen = false;               ///< weights do not change after loading: forward only, with additional passes
  bool accumulates = false;          ///< several backward passes make one update (iter_size > 1)
  bool transient_gradients = false;  ///< a weight's gradient lasts until backward() reports it; not with accumulates
  bool recompute = false;            ///< cheap results are recomputed in backward, not kept
  bool open_data = true;
  bool vague_inputs = false;  ///< an Input whose rows do not fit is a warning; later shapes are unknown then
  bool fuse = true;           ///< false: every layer of the file is a node
  bool verify = false;        ///< check the graph after every pass, and the plan (graph/verify/verify.h)
  int data_threads = 0;       ///< decoding threads; 0: as each data layer sets it
  int64_t skip_bad = 0;       ///< per dataset, the number of bad records that may be replaced
  uint64_t seed = 1;
  data::BatchShare share = {};      ///< which batches of the data the net takes
  std::vector<std::string> freeze;  ///< name patterns of layers that are not trained (graph/freeze.h)
  std::vector<std::string> keep;    ///< blobs that must be readable afterwards, besides the net's outputs
  /// The caller may run single layers, and read and set every blob of the file and its gradient. Every layer is then a
  /// node, and only views share memory. With force_backward, gradients may start at any blob, not only at losses.
  bool observed = false;
  size_t first_layers = SIZE_MAX;       ///< build so many of the selected layers, from the first on, and all inputs
  bool only_kept = false;               ///< frozen nets: compute only `keep`, not even the net's outputs
  std::vector<std::string> switch_off;  ///< names of optional passes not to run
  Layout preferred_layout = Layout::kBlocked16;  ///< of LayoutRule::kPreferred
  DType value_type = DType::kF32;                ///< of values that may be 16-bit (TypeRule)
  kernels::BatchNormFusions batch_norm = {};     ///< what BatchNorm may fuse with its neighbours
  bool eight_bits = false;                       ///< frozen nets: layers with scales for it run on 8-bit integers
};

/// `options` adapted to `context`: the preferred layout of the device's convolutions, and the value type of the
/// context's precision.
BuildOptions options_for(BuildOptions options, const Context& context);

/// Owns the file's message (layers refer to it), the nodes in execution order, and the results of the passes.
struct Graph {
  std::shared_ptr<const NetFile> file;
  BuildOptions options;
  std::string name;
  caffe::NetState state;            ///< after merging
  std::vector<SourceLayer> layers;  ///< selected by the state, in the file's order
  std::vector<Node> nodes;          ///< in execution order
  std::vector<Value> values;
  std::vector<Weight> weights;
  std::vector<Diagnostic> warnings;      ///< of shapes
  std::vector<std::string> dropped;      ///< names of selected layers that no requested blob needs
  bool cut_before_loss = false;          ///< a loss is among the layers left out by BuildOptions::first_layers
  int unfit = -1;                        ///< the first of `layers` with an error, if infer_shapes threw
  std::map<std::string, ValueId> names;  ///< blob name -> the last value of that name
  std::map<std::string, std::shared_ptr<const caffe::LayerParameter>> internal;  ///< options of internal layers

  // By ID, which must be valid.
  Node& node(NodeId id) { return nodes[size_t(id)]; }
  const Node& node(NodeId id) const { return nodes[size_t(id)]; }
  Value& value(ValueId id) { return values[size_t(id)]; }
  const Value& value(ValueId id) const { return values[size_t(id)]; }
  Weight& weight(WeightId id) { return weights[size_t(id)]; }
  const Weight& weight(WeightId id) const { return weights[size_t(id)]; }
  const SourceLayer& source(int id) const { return layers[size_t(id)]; }
  SourceLayer& source(int id) { return layers[size_t(id)]; }

  Place place(const Node& node,
              const std::string& field = {}) const;  ///< of a field of the node's layer, or of the layer itself
  Place place_of_layer(int source, const std::string& field = {}) const;
  caffe::Phase phase() const { return state.phase(); }
  /// Two values whose gradients the node's backward sums in place of reading that of y[0]; or none.
  std::vector<ValueId> dy_parts(const Node& node) const;
  /// The blobs that no layer reads (and no pass removed), in alphabetical order: "outputs" in logs and tools.
  std::vector<std::string> output_names() const;
  int source_named(const std::string& layer) const;  ///< index into layers, or -1
};

/// For each weight of `graph` the same weight of `other`, or -1. Layers of one name are the same in both nets. A weight
/// is found through any layer that uses it, because its owner may exist in only one of the nets.
std::vector<WeightId> weights_in(const Graph& other, const Graph& graph);

/// Selects layers by state, creates them through the registry and connects names. Reports all independent errors
/// (unknown types, unknown or duplicate blobs, cycles, wrong numbers of bottoms, bad options) in one Error(kNet),
/// unknown types first. Includes the errors of a partial net's text, except those in layers of unknown type.
Graph build(std::shared_ptr<const NetFile> file, const BuildOptions& options);

/// Throws the errors of a partial net, if any: of its text, and of build() in each phase that it has data for.
void refuse_draft(const std::shared_ptr<const NetFile>& file);

/// The state of a net: `base` (the file's own), overridden by what `over` sets.
caffe::NetState merge_states(const caffe::NetState& base, const caffe::NetState& over);

/// Whether `layer` is in the net for `state`, by its include and exclude rules.
bool selected(const caffe::LayerParameter& layer, const caffe::NetState& state);

/// The graph as text, one line per node: for golden tests and `cortado plan`.
std::string to_text(const Graph& graph);

/// A layer of this type without options, for a pass to insert (Split, Reorder).
std::unique_ptr<Layer> make_internal_layer(Graph& graph, const std::string& type);

/// Whether a node that runs on integers needs them in plain layout, not channels last.
bool wants_plain_integers(const Node& node);

/// Recomputes all Value::readers from the nodes' x.
void index_readers(Graph& graph);

}  // namespace cortado::graph

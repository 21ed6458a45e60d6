#pragma once

// The net between its file and its plan: nodes (layers) and the values that flow between them. Every name of the
// prototxt is written once here: a blob that the file computes in place is several values of one name.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
  bool shape_known = false;  ///< false behind a data layer whose dataset was not opened
  Layout layout = Layout::kPlain;
  DType dtype = DType::kF32;
  float scale = 1;  ///< of 8-bit integers (core/tensor.h)
  NodeId producer = -1;
  int producer_output = 0;
  std::vector<Reader> readers;
  bool wants_gradient = false;  ///< a weight that learns lies before it, or force_backward
  float loss_weight = 0;        ///< != 0: its elements are summed into the loss with this factor
  bool dynamic_rows = false;    ///< only the values of a pass tell how many rows there are; `shape` has the most
  bool kept = false;            ///< must stay readable after a run: net outputs, losses, blobs the user asked for

  Encoding encoding() const { return {dtype, scale}; }
  TensorSpec spec() const { return {shape, dtype, shape.axes() == 4 ? layout : Layout::kPlain, scale}; }
};

/// One weight blob. Layers that share it by name list the same id.
struct Weight {
  NodeId owner = -1;       ///< the first node that lists it, before passes moved nodes
  std::string layer;       ///< name of the layer in the file that owns it
  int index = 0;           ///< which of that layer's blobs
  std::string share_name;  ///< of `param { name }`, or ""
  WeightSpec spec;
  float lr_mult = 1, decay_mult = 1;
  bool learns() const { return spec.learned && lr_mult != 0; }
};

/// A layer of the file, as snapshots name it, whichever node runs it now.
struct SourceLayer {
  const caffe::LayerParameter* config;  ///< owned by the Graph's file
  std::string path;                     ///< "layer[3]", for the file's positions
  std::vector<WeightId> weights;
};

/// What a node that runs on 8-bit integers reads as x[0] and writes as y[0].
struct EightBits {
  Encoding x, y;
};

struct Node {
  std::string name;  ///< of the layer, or of the layers it stands for joined by '+'
  std::string type;
  std::vector<int> sources;  ///< into Graph::layers; first its own, then those it absorbed; empty for what passes made
  std::unique_ptr<Layer> layer;
  std::vector<ValueId> x, y;
  std::vector<WeightId> w;
  std::vector<bool> wants_dx;  ///< per x
  std::vector<bool> wants_dw;  ///< per w
  bool runs_backward = false;
  kernels::PostOps post;                     ///< what it has taken over from the nodes behind it
  std::optional<EightBits> eight_bits = {};  ///< set where it does (passes/use_8_bits.cc)
  std::vector<Fusion> fusions = {};          ///< agreed on with neighbours
};

/// Whether the node has no backward of its own: the maker of x[0] reads its two gradients (Graph::dy_parts).
bool leaves_sum(const Node& node);

inline StorageRule storage_of(const Node& node) { return node.layer->storage(node.post); }

struct BuildOptions {
  caffe::NetState state;     ///< the solver's or command's; merged over the file's own
  bool backward = true;      ///< a training net; false: forward only
  bool frozen = false;       ///< weights never change once they are loaded: forward only, with passes of its own
  bool accumulates = false;  ///< several backward passes make one update (iter_size > 1)
  bool transient_gradients = false;  ///< a weight's gradient lasts until backward() reports it; not with accumulates
  bool recompute = false;            ///< results that are cheap to make are made again in backward, not kept
  bool open_data = true;
  bool fuse = true;      ///< false: every layer of the file is a node
  bool verify = false;   ///< the graph is checked after every pass, and the plan (graph/verify/verify.h)
  int data_threads = 0;  ///< decoding threads; 0: what each data layer says
  int64_t skip_bad = 0;  ///< of each dataset, the bad records that others may stand in for
  uint64_t seed = 1;
  data::BatchShare share = {};      ///< which batches of the data the net takes
  std::vector<std::string> freeze;  ///< patterns of the names of layers that learn nothing (graph/freeze.h)
  std::vector<std::string> keep;    ///< blobs to be readable afterwards besides the net's outputs
  /// Whoever runs the net may look at everything that the file names, and set it, gradients as well: they have memory
  /// of their own for good, and under force_backward gradients may begin at any blob, not at losses alone.
  bool observed = false;
  bool only_kept = false;               ///< frozen nets: nothing else than `keep` is wanted, not even the net's outputs
  std::vector<std::string> switch_off;  ///< names of optional passes not to run
  Layout preferred_layout = Layout::kBlocked16;  ///< of LayoutRule::kPreferred
  DType value_type = DType::kF32;                ///< of values that may be 16-bit (TypeRule)
  kernels::BatchNormFusions batch_norm = {};     ///< what normalisation may take over from its neighbours
  bool eight_bits = false;                       ///< frozen nets: layers that have scales for it run on 8-bit integers
};

/// `options` as nets that run on `context` want them: the layout that its device's convolutions like best, and the type
/// of values of its precision.
BuildOptions options_for(BuildOptions options, const Context& context);

/// Owns the file's message (layers refer to it), the nodes in execution order, and everything the passes found out.
struct Graph {
  std::shared_ptr<const NetFile> file;
  BuildOptions options;
  std::string name;
  caffe::NetState state;            ///< after merging
  std::vector<SourceLayer> layers;  ///< those that the state selects, in the file's order
  std::vector<Node> nodes;          ///< in execution order
  std::vector<Value> values;
  std::vector<Weight> weights;
  std::vector<std::string> dropped;      ///< names of layers of the state that nothing wanted needs
  std::map<std::string, ValueId> names;  ///< blob name -> the last value of that name
  std::map<std::string, std::shared_ptr<const caffe::LayerParameter>> internal;  ///< what internal layers are made from

  // By number; the graph has it.
  Node& node(NodeId id) { return nodes[size_t(id)]; }
  const Node& node(NodeId id) const { return nodes[size_t(id)]; }
  Value& value(ValueId id) { return values[size_t(id)]; }
  const Value& value(ValueId id) const { return values[size_t(id)]; }
  Weight& weight(WeightId id) { return weights[size_t(id)]; }
  const Weight& weight(WeightId id) const { return weights[size_t(id)]; }
  const SourceLayer& source(int id) const { return layers[size_t(id)]; }
  SourceLayer& source(int id) { return layers[size_t(id)]; }

  Place place(const Node& node,
              const std::string& field = {}) const;  ///< of a field of the node's layer, or of the layer
  Place place_of_layer(int source, const std::string& field = {}) const;
  caffe::Phase phase() const { return state.phase(); }
  /// Two values whose gradients' sum the node's backward takes for that of y[0]; or none.
  std::vector<ValueId> dy_parts(const Node& node) const;
  /// The blobs that no layer reads (and no pass took out), in alphabetical order: "outputs" of logs and tools.
  std::vector<std::string> output_names() const;
  int source_named(const std::string& layer) const;  ///< index into layers, or -1
};

/// For each weight of `graph` the weight of `other` that it is, or -1. Layers of one name are one layer of two nets,
/// and any layer that uses a weight tells which it is: its owner may be in one of the nets alone.
std::vector<WeightId> weights_in(const Graph& other, const Graph& graph);

/// Selects layers by state, makes them through the registry and connects names. Gathers all independent mistakes
/// (unknown types, unknown or duplicate blobs, cycles, wrong numbers of bottoms, bad options) into one Error(kNet),
/// unknown types first, and with them the mistakes of a draft's text: those in layers of unknown types are not told.
Graph build(std::shared_ptr<const NetFile> file, const BuildOptions& options);

/// Throws the mistakes of a draft, if it has any: of its text and of build() in each phase that it has data for.
void refuse_draft(const std::shared_ptr<const NetFile>& file);

/// The state a net runs in: `base` (the file's own), then what `over` sets.
caffe::NetState merge_states(const caffe::NetState& base, const caffe::NetState& over);

/// Whether `layer` takes part in `state`, by its include and exclude rules.
bool selected(const caffe::LayerParameter& layer, const caffe::NetState& state);

/// The graph as text, one line a node: the golden form for tests and `cortado plan`.
std::string to_text(const Graph& graph);

/// A layer that a pass inserts (Split, Reorder): of this type, without options.
std::unique_ptr<Layer> make_internal_layer(Graph& graph, const std::string& type);

/// Whether a node that runs on integers wants them plain, not channels last.
bool wants_plain_integers(const Node& node);

/// Recomputes every Value::readers from the nodes' x.
void index_readers(Graph& graph);

}  // namespace cortado::graph

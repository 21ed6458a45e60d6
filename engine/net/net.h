#pragma once

// A net: a plan with memory and weights. forward() and backward() call the plan's steps in order and allocate nothing.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/device/device_memory.h"
#include "graph/plan.h"
#include "kernels/device/filters.h"
#include "net/losses.h"
#include "proto/weights/weights_file.h"

namespace cortado {

class BadLabel;

/// A weight that learns, as solvers see it: `count` stored floats (padding lanes included, which stay zero).
struct Param {
  graph::WeightId id;
  std::string layer;  ///< owner's name and blob index, for messages
  int index;
  Shape shape;  ///< in the user's order
  float* w;
  float* dw;  ///< with BuildOptions::transient_gradients its memory is shared, except in on_complete()
  int64_t count;
  float lr_mult, decay_mult;
  kernels::WeightFormat format;  ///< of w, dw and their histories
};

/// A copy of a learning weight in the format of a device's kernels: an update of one must update the other.
struct WeightCopy {
  size_t param;  ///< index into params()
  void* memory;
  kernels::FilterCopy form;
};

/// Weights that layers update in forward(), as BatchNorm its statistics.
struct KeptWeight {
  float* values;
  int64_t count;  ///< stored floats
};

/// Receives gradients during backward().
class GradientReader {
 public:
  virtual ~GradientReader() = default;
  /// params()[param].dw is complete, and no later step of this pass reads its w: the reader may change both until it
  /// returns.
  virtual void on_complete(size_t param) = 0;
};

/// An output of the net: a blob that no layer reads. Outputs are sorted by name.
struct NetOutput {
  std::string name;
  graph::ValueId value;
  Shape shape;
  float loss_weight;
  std::string type = {};          ///< of the layer that makes it
  int64_t detection_classes = 0;  ///< of Scoring, if its score is a mean average precision; else 0

  /// Number of scores.
  int64_t scores() const { return detection_classes > 0 ? 1 : shape.count(); }
};

/// The outputs of a graph with known shapes.
std::vector<NetOutput> outputs_of(const graph::Graph& graph);

/// Values that a layer keeps between passes, as LSTM its state, on the context's device.
struct CarriedValues {
  std::string layer;
  std::span<float> values;
};

/// Sums over all weights and over their gradients.
struct Norms {
  double l1_data = 0, l1_diff = 0, squares_data = 0, squares_diff = 0;
};

/// A value that is NaN or Inf.
struct NotFinite {
  enum class In { kNothing, kWeight, kData, kResult, kGradient };
  In in = In::kNothing;
  std::string where;   ///< "layer 'conv2' (Convolution): top 'conv2'"; "" if all is finite
  std::string record;  ///< kData: what the sample was made from: "train.h5: row 3: it contains nan"
};

class Net {
 public:
  /// Allocates memory and fills weights by their fillers. `weights_of`: the net whose weights this one shares, matched
  /// by layer name; other layers get their own. It must outlive this net, and its plan determines the formats. A frozen
  /// net must share with a frozen one: others do not notify it of changed weights.
  Net(graph::Plan plan, Context& context, Net* weights_of = nullptr);
  ~Net();
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;

  /// One forward pass; its random draws are keyed by context.pass. Throws Error(kData) for bad data or labels.
  void forward();
  /// The two halves of forward() on a device. stage() does the host's work (data layers, the number of the pass) and
  /// waits for nothing else. forward_staged() enqueues the same work each time if stages_all_host_work().
  void stage();
  void forward_staged();
  bool stages_all_host_work() const { return stages_all_host_work_; }
  /// Computes loss() on the device; returns its address there.
  const float* loss_word() { return losses_.add_up(context_); }
  /// From now on backward() multiplies all initial gradients by *scale in device memory; null: by 1.
  void scale_losses(const float* scale) { loss_scale_ = scale; }

  /// The sum over blobs of loss_weight times the sum of their elements, after forward().
  double loss() const;
  /// Gradients of the loss for every learning weight. `accumulate`: add to the present ones (iter_size > 1), which
  /// needs BuildOptions::accumulates. `reader` receives every param once, as early as possible.
  void backward(bool accumulate = false, GradientReader* reader = nullptr);

  const std::string& name() const { return plan_.graph.name; }
  const graph::Plan& plan() const { return plan_; }
  Context& context() { return context_; }
  std::vector<Param>& params() { return params_; }
  std::vector<KeptWeight> kept_weights();
  /// All weights that this net owns, those that do not learn included, as stored.
  std::span<std::byte> weight_memory();
  void weights_changed();  ///< call after a write to that memory
  /// All gradients in one piece: the dw of each param, in order, with gaps. Requires a net without
  /// BuildOptions::transient_gradients.
  std::span<float> gradient_memory();
  std::vector<WeightCopy> weight_copies() const;
  const std::vector<NetOutput>& outputs() const { return outputs_; }

  bool has_blob(const std::string& blob) const;     ///< known and readable after forward()
  Shape blob_shape(const std::string& blob) const;  ///< throws Error(kUsage) with the nearest name
  /// Row-major copy in the user's shape. Throws Error(kUsage) if the blob does not exist or is not kept.
  std::vector<float> read_blob(const std::string& blob) const;
  /// The same without allocating, and for plain layouts only a copy; rows that the pass did not compute are zeros.
  void read_blob_to(graph::ValueId value, float* plain) const;
  void write_blob(const std::string& blob, const float* plain);  ///< sets the blob of an Input layer
  /// Its shape after the latest pass, which may have fewer rows than planned.
  const Shape& value_shape(graph::ValueId value) const;
  /// Sets the rows of a value with dynamic rows that the caller has written.
  void set_value_shape(graph::ValueId value, const Shape& shape) { current_shapes_[size_t(value)] = shape; }
  /// A value after forward(), and its gradient in backward(); data is null if it has no memory. The shape is the
  /// planned one.
  Tensor value_tensor(graph::ValueId value) const;
  Tensor gradient_tensor(graph::ValueId value) const;
  std::vector<std::string> input_names() const;  ///< blobs made by Input layers

  /// Copies weights by layer name, with BatchNorms converted to this net's form (fit_batch_norms()). Logs layers of the
  /// file that the net lacks ("Ignoring source layer X"). Throws Error(kSnapshot) with all mismatches of number and
  /// shape, and if no layer matches. Returns the number of layers copied.
  int load_weights(const std::vector<LayerWeights>& file, const std::string& path);
  /// Layers with a weight that only its filler set: not load_weights(), write_weight() or a net that shares it.
  std::vector<std::string> layers_without_weights() const;
  /// Throws Error(kSnapshot) that names these layers, if any: for nets that only infer.
  void require_weights() const;
  /// Every layer's complete configuration and blobs, in the file's order, in Caffe's shapes.
  caffe::NetParameter to_proto(bool with_diffs = false);
  /// The same for plan().graph.layers[source] alone, for writers that proceed layer by layer.
  void layer_to_proto(size_t source, caffe::LayerParameter& out, bool with_diffs = false);

  /// A weight, and its gradient if it has one, in Caffe's order. While a weight is written no other thread may use it.
  void read_weight(graph::WeightId id, float* plain) const;
  void write_weight(graph::WeightId id, const float* plain);
  /// Address of its values: equal for nets that share the weight.
  const void* weight_place(graph::WeightId id) const { return weight(id); }
  bool has_weight_gradient(graph::WeightId id) const { return weight_gradient(id) != nullptr; }
  void read_weight_gradient(graph::WeightId id, float* plain) const;
  void write_weight_gradient(graph::WeightId id, const float* plain);

  /// Positions of data layers: (layer name, records consumed).
  std::vector<std::pair<std::string, uint64_t>> positions() const;
  void seek(const std::string& layer, uint64_t position);
  /// State that layers keep for later passes besides weights (BatchMemory::carried()), in the order of the nodes.
  std::vector<CarriedValues> carried_values();
  int64_t batch_size() const;   ///< of the first data blob; 0 if none
  double wait_seconds() const;  ///< total time spent waiting for data

  /// After a forward() (and backward()) with a non-finite loss or gradient: what has the first NaN or Inf.
  NotFinite first_not_finite() const;
  /// The same for the weights and the data of the latest batch only. Layers that keep a state do not run again, but
  /// blobs may be overwritten.
  NotFinite first_not_finite_given() const;
  /// Enables or disables the lines of Caffe's debug_info in every pass (net/debug_info.cc). Merged layers have one
  /// line: a net without BuildOptions::fuse has all of them.
  void set_debug_info(bool on) { debug_info_ = on; }
  /// Bytes for forward() and backward(): arena, weights, and their gradients.
  int64_t memory_bytes() const;

  /// Runs one step. All steps in order, after begin_pass(), are equivalent to forward() or backward().
  void begin_pass();
  size_t forward_steps() const;
  size_t backward_steps() const;
  void run_forward_step(size_t i);
  void run_backward_step(size_t i);
  /// Whether later backward steps add to the weights' gradients, as backward(accumulate) does.
  void add_gradients(bool on);

 private:
  struct BoundStep;
  struct WeightMemory;
  Tensor tensor_at(const graph::Slot& slot) const;
  void take_memory();
  void place_weights(Net* weights_of);
  void fill_weights(const std::vector<bool>& own);
  void fill_weight(graph::WeightId id, float* plain);
  graph::NodeId node_of_weight(graph::WeightId id) const;
  void bind_rows(const graph::Node& node, Operands& io);
  void bind();
  void bind_completions();
  void find_stage();
  void derive_weights();
  void validate(const BoundStep& step) const;
  NotFinite search_not_finite(bool given_only) const;
  NotFinite not_finite_data(const BoundStep& step, size_t y) const;
  void blame_record(const BoundStep& step, const BadLabel& bad) const;
  float* weight(graph::WeightId id) const;
  float* weight_gradient(graph::WeightId id) const;
  void complete(size_t param, GradientReader* reader);
  void log_tops(size_t step) const;
  void log_gradients(const BoundStep& step) const;
  void add_norms(const Param& param);
  void log_norms();
  double gradient_unit() const;

  graph::Plan plan_;
  Context& context_;
  DeviceMemory arena_;
  Losses losses_;
  const float* loss_scale_ = nullptr;
  DeviceMemory pass_;  ///< Context::device_pass; empty on the CPU
  size_t staged_ = 0;  ///< number of leading forward steps that stage() runs
  bool stages_all_host_work_ = true;
  std::unique_ptr<WeightMemory> memory_;
  uint64_t derived_version_ = 0;       ///< of the weights at the last check of derived ones
  std::vector<Shape> current_shapes_;  ///< per value with dynamic rows: that of the last pass; at first the largest
  std::vector<BoundStep> forward_, backward_;
  std::vector<Param> params_;
  std::vector<size_t> without_gradient_;  ///< params that no backward step writes: their dw stays 0
  std::vector<NetOutput> outputs_;
  bool debug_info_ = false;
  Norms norms_;  ///< of complete params, with debug_info
};

/// "layer 'a'", "layers 'a' and 'b'"; only the first few of a long list.
std::string layers_text(const std::vector<std::string>& names);

/// File to net in one call: build, passes, plan, memory.
std::unique_ptr<Net> make_net(std::shared_ptr<const NetFile> file, const graph::BuildOptions& options, Context& context,
                              Net* weights_of = nullptr);

}  // namespace cortado

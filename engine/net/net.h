#pragma once

// A net: a plan with memory and weights. It decides nothing: forward() and backward() call the plan's steps in order
// and allocate nothing.

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

/// A weight that learns, as solvers see it: `count` stored floats (padding lanes included, which are and stay zero).
struct Param {
  graph::WeightId id;
  std::string layer;  ///< owner's name and blob index, for messages
  int index;
  Shape shape;  ///< the user's
  float* w;
  float* dw;  ///< with BuildOptions::transient_gradients its memory is shared, except in on_complete()
  int64_t count;
  float lr_mult, decay_mult;
  kernels::WeightFormat format;  ///< of w, dw and of any history kept for it
};

/// A weight that learns, once more, as kernels of a device read it: who changes the one there changes the other.
struct WeightCopy {
  size_t param;  ///< whose
  void* memory;
  kernels::FilterCopy form;
};

/// Values that layers keep by themselves among the weights, as BatchNorm its statistics: forward() changes them.
struct KeptWeight {
  float* values;
  int64_t count;  ///< stored floats
};

/// Receives gradients within backward().
class GradientReader {
 public:
  virtual ~GradientReader() = default;
  /// params()[param].dw is complete, and no later step of this pass reads its w: the reader may change both until it
  /// returns.
  virtual void on_complete(size_t param) = 0;
};

/// An output of the net: a blob that no layer reads. Outputs are in alphabetical order of names.
struct NetOutput {
  std::string name;
  graph::ValueId value;
  Shape shape;
  float loss_weight;
  int64_t detection_classes = 0;  ///< Scoring's, where its score is a mean average precision; else 0

  /// How many scores it makes.
  int64_t scores() const { return detection_classes > 0 ? 1 : shape.count(); }
};

/// The outputs of a graph with shapes.
std::vector<NetOutput> outputs_of(const graph::Graph& graph);

/// Values that a layer keeps between passes, as LSTM its state, where the context computes.
struct CarriedValues {
  std::string layer;
  std::span<float> values;
};

/// Sums over weights and over their gradients.
struct Norms {
  double l1_data = 0, l1_diff = 0, squares_data = 0, squares_diff = 0;
};

class Net {
 public:
  /// Takes memory, and weights filled by their fillers. `weights_of`: the net whose weights this one uses live (matched
  /// by layer name; layers that only this net has get their own); it outlives this one and its plan gave the formats. A
  /// frozen net takes those of another frozen one: from other nets it would not learn that they changed.
  Net(graph::Plan plan, Context& context, Net* weights_of = nullptr);
  ~Net();
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;

  /// One forward pass: draws of this pass are keyed by context.pass. Throws Error(kData) for bad data or labels.
  void forward();
  /// The two halves of forward() on a device. stage() does the host's work (data layers, the number of the
  /// pass) and waits for nothing else; what forward_staged() enqueues is the same each time, if stages_all_host_work().
  void stage();
  void forward_staged();
  bool stages_all_host_work() const { return stages_all_host_work_; }
  /// Computes loss() on the device; a place in its memory.
  const float* loss_word() { return losses_.add_up(context_); }
  /// From now on backward() begins with all gradients times *scale, which lies in device memory; null: as they are.
  void scale_losses(const float* scale) { loss_scale_ = scale; }

  /// Sum over blobs of loss_weight times the sum of their elements, after forward().
  double loss() const;
  /// Gradients of the loss for every learning weight. `accumulate`: add to those that are there (iter_size > 1); the
  /// net was built with BuildOptions::accumulates then. `reader` is told of every param once, each as early as can be.
  void backward(bool accumulate = false, GradientReader* reader = nullptr);

  const std::string& name() const { return plan_.graph.name; }
  const graph::Plan& plan() const { return plan_; }
  Context& context() { return context_; }
  std::vector<Param>& params() { return params_; }
  std::vector<KeptWeight> kept_weights();
  /// All weights that are this net's own, those that do not learn too, as they are stored.
  std::span<std::byte> weight_memory();
  void weights_changed();  ///< to be told after a write to that memory
  /// All gradients in one piece: of each param its dw, in their order, and gaps. The net was built without
  /// BuildOptions::transient_gradients.
  std::span<float> gradient_memory();
  std::vector<WeightCopy> weight_copies() const;
  const std::vector<NetOutput>& outputs() const { return outputs_; }

  bool has_blob(const std::string& blob) const;     ///< known and readable after forward()
  Shape blob_shape(const std::string& blob) const;  ///< throws Error(kUsage) with the nearest name
  /// Row-major copy in the user's shape. Throws Error(kUsage) where the net has no such blob, or does not keep it.
  std::vector<float> read_blob(const std::string& blob) const;
  /// The same without allocating, plain layouts only copy; with zeros for rows that were planned and are not there.
  void read_blob_to(graph::ValueId value, float* plain) const;
  void write_blob(const std::string& blob, const float* plain);  ///< sets a blob that an Input layer makes
  /// Where a value is after forward(), and its gradient in backward(); no memory where there is none.
  Tensor value_tensor(graph::ValueId value) const;
  Tensor gradient_tensor(graph::ValueId value) const;
  std::vector<std::string> input_names() const;  ///< blobs made by Input layers

  /// Copies weights by layer name; BatchNorms in the form that this net has (fit_batch_norms()). Layers of the file
  /// that the net lacks are logged ("Ignoring source layer X"). Throws Error(kSnapshot) with all mismatches of number
  /// and shape, and when nothing at all matches. Returns layers copied.
  int load_weights(const std::vector<LayerWeights>& file, const std::string& path);
  /// The layers with a weight that still has what its filler gave it: no load_weights(), write_weight() or net that
  /// shares its weights has set it.
  std::vector<std::string> layers_without_weights() const;
  /// Throws Error(kSnapshot) that names these layers, if there are any: for nets that are only to compute.
  void require_weights() const;
  /// Every layer's full configuration and blobs, in the file's order, in Caffe's shapes.
  caffe::NetParameter to_proto(bool with_diffs = false);
  /// The same of one of them, plan().graph.layers[source], for writers that go layer by layer.
  void layer_to_proto(size_t source, caffe::LayerParameter& out, bool with_diffs = false);

  /// A weight, and its gradient where it has one, in Caffe's order. Whoever writes a weight is to be alone.
  void read_weight(graph::WeightId id, float* plain) const;
  void write_weight(graph::WeightId id, const float* plain);
  /// Where its values lie: nets that share a weight have it at the same place.
  const void* weight_place(graph::WeightId id) const { return weight(id); }
  bool has_weight_gradient(graph::WeightId id) const { return weight_gradient(id) != nullptr; }
  void read_weight_gradient(graph::WeightId id, float* plain) const;
  void write_weight_gradient(graph::WeightId id, const float* plain);

  /// Where data layers stand: (layer name, records consumed).
  std::vector<std::pair<std::string, uint64_t>> positions() const;
  void seek(const std::string& layer, uint64_t position);
  /// What layers leave for later passes besides weights (BatchMemory::carried()), in the order of the nodes.
  std::vector<CarriedValues> carried_values();
  int64_t batch_size() const;   ///< of the first data blob; 0 if there is none
  double wait_seconds() const;  ///< spent waiting for data so far

  /// After a forward() (and backward()) whose loss or gradients are not finite: what holds the first NaN or Inf, e.g.
  /// "layer 'conv2' (Convolution): top 'conv2'"; "" when all is finite.
  std::string first_not_finite() const;
  /// From now on (or no more) every pass logs the lines of Caffe's debug_info (net/debug_info.cc). Merged layers have
  /// one line: a net without BuildOptions::fuse has them all.
  void set_debug_info(bool on) { debug_info_ = on; }
  /// Bytes that forward()/backward() need: arena, weights, their gradients.
  int64_t memory_bytes() const;

  /// Runs one step alone; in order, and after begin_pass(), all of them do what forward() or backward() does.
  void begin_pass();
  size_t forward_steps() const;
  size_t backward_steps() const;
  void run_forward_step(size_t i);
  void run_backward_step(size_t i);
  /// Whether those that follow add to the weights' gradients that are there, as backward(accumulate) does.
  void add_gradients(bool on);

 private:
  struct BoundStep;
  struct WeightMemory;
  const Shape& current_shape(graph::ValueId id) const;
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
  size_t staged_ = 0;  ///< forward steps that stage() runs: the first ones
  bool stages_all_host_work_ = true;
  std::unique_ptr<WeightMemory> memory_;
  uint64_t derived_version_ = 0;       ///< of the weights that all derived ones were last seen to be made of
  std::vector<Shape> current_shapes_;  ///< per value with dynamic rows: its shape in the latest pass, at first the most
  std::vector<BoundStep> forward_, backward_;
  std::vector<Param> params_;
  std::vector<size_t> without_gradient_;  ///< params that no backward step writes: their dw stays 0
  std::vector<NetOutput> outputs_;
  bool debug_info_ = false;
  Norms norms_;  ///< of the params that are complete, under debug_info
};

/// "layer 'a'", "layers 'a' and 'b'", the first ones of many.
std::string layers_text(const std::vector<std::string>& names);

/// File to net in one call: build, passes, plan, memory.
std::unique_ptr<Net> make_net(std::shared_ptr<const NetFile> file, const graph::BuildOptions& options, Context& context,
                              Net* weights_of = nullptr);

}  // namespace cortado

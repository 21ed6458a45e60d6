#pragma once

// A trained net as a function from arrays to arrays, for any number of threads at once. Weights are in memory once,
// derived ones included. Each concurrent request has its own net around them (an arena, kernels, a Context), from a
// pool. A request of another shape needs another plan; those of the most recently used shapes are kept.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "net/net.h"

namespace cortado {

/// Values in row-major order, N x C x H x W.
struct Array {
  Shape shape;
  std::vector<float> values;
};
using Arrays = std::map<std::string, Array>;  ///< by blob name

/// Weights, and their name in messages.
struct NamedWeights {
  std::string name;
  std::vector<LayerWeights> layers;
};

struct TrainedModel {
  std::shared_ptr<const NetFile> net;
  std::vector<NamedWeights> weights;  ///< in order
};

struct PredictorOptions {
  std::vector<std::string> outputs = {};     ///< requested blobs, any of the net's; empty: those that no layer reads
  ContextOptions context = {.threads = 0};   ///< of one request; threads 0: one per core
  int64_t batch = 0;                         ///< images in a typical request; 0: as in the file. Others work too
  std::map<std::string, Shape> shapes = {};  ///< of inputs in a typical request, if they differ from the file's
  caffe::NetState state = {};                ///< phase TEST unless set
};

class Predictor {
 public:
  /// `model`: a deploy prototxt with Input or MemoryData layers, or an ONNX model. `weights`: files whose weights are
  /// copied in order by layer name; none: the model's own, if it contains them. Throws Error for an invalid file,
  /// Error(kUsage) if the net has weights and none are given.
  Predictor(const std::string& model, const std::vector<std::string>& weights, PredictorOptions options = {});
  Predictor(std::shared_ptr<const NetFile> model, const std::vector<std::string>& weights,
            PredictorOptions options = {});
  explicit Predictor(TrainedModel model, PredictorOptions options = {});
  ~Predictor();
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  /// The outputs for one batch. Needs every input that the outputs depend on, with the declared number of axes and any
  /// extents that the net's layers and weights accept. Equal inputs give equal bits in any thread, those of a net whose
  /// file has these shapes. Thread-safe. Throws Error(kUsage) for a missing or unknown name, Error(kData) for an
  /// invalid shape, with the layer that rejects it.
  Arrays predict(const Arrays& inputs);

  /// Prepares what `count` concurrent requests with inputs of these shapes need, and keeps it, so that none of them
  /// waits for a plan. Each computes on `threads`; 0: the context's number. Throws as predict() does.
  void prepare(const std::map<std::string, Shape>& shapes, int count, int threads = 0);
  int threads() const { return options_.context.threads; }

  /// Throws as predict() does if no input has this name, or if it cannot have this shape.
  void check_input(const std::string& name, const Shape& shape) const;
  const std::map<std::string, Shape>& inputs() const { return inputs_; }  ///< names and declared shapes
  const std::vector<std::string>& outputs() const { return outputs_; }
  /// The shape of an output for the typical batch.
  Shape output_shape(const std::string& output) const;

 private:
  struct Worker;
  using Shapes = std::map<std::string, Shape>;

  void load(const std::vector<NamedWeights>& weights);
  void read_weight_shapes();
  Shapes shapes_of(const Arrays& inputs) const;
  graph::BuildOptions build_options() const;
  std::vector<Diagnostic> misfits_of(const graph::Graph& graph) const;
  graph::Graph make_graph(const Shapes& shapes, const Context& context) const;
  [[noreturn]] void throw_misfits(std::vector<Diagnostic> mistakes, const Shapes& shapes) const;
  std::shared_ptr<Worker> make_worker(const Shapes& shapes, int threads);
  std::shared_ptr<Worker> take(const Shapes& shapes);
  int threads_for(const Shapes& shapes) const;  ///< requires the lock
  void give_back(std::shared_ptr<Worker> worker);
  size_t idle_shapes() const;  ///< requires the lock

  std::shared_ptr<const NetFile> file_;
  PredictorOptions options_;
  Shapes inputs_;
  std::vector<std::vector<Shape>> weight_shapes_;  ///< per layer, for the declared inputs
  bool declared_fit_ = true;                       ///< the net can be built with its declared inputs
  std::vector<std::string> needed_;                ///< inputs that the outputs depend on
  std::vector<std::string> outputs_;
  std::shared_ptr<Worker> owner_;  ///< the worker whose net owns the weights
  std::mutex mutex_;
  std::vector<std::shared_ptr<Worker>> idle_;     ///< least recently used first
  std::vector<std::pair<Shapes, int>> prepared_;  ///< with their number of threads
  size_t most_idle_, most_shapes_;                ///< limits: idle nets, and distinct shapes among them
};

/// Checks that a blob of declared shape may have shape `have`: the same number of axes, and not empty. Throws
/// Error(kData) that begins with `what` ("x.npy") otherwise.
void check_input_shape(const std::string& what, const std::string& blob, const Shape& have, const Shape& wanted);

}  // namespace cortado

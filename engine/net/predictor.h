#pragma once

// A trained net as a function: arrays in, arrays out, from any number of threads at once. Weights are in memory once,
// those that kernels want otherwise as well. Each request that runs has a net of its own around them (an arena,
// kernels, a Context), taken from a pool; a request of another shape gets another plan, and those of the shapes that
// were used last are kept.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "net/net.h"

namespace cortado {

/// Values in row-major order, in the user's N x C x H x W.
struct Array {
  Shape shape;
  std::vector<float> values;
};
using Arrays = std::map<std::string, Array>;  ///< by the name of the blob

/// Weights that were read, and what messages call them.
struct NamedWeights {
  std::string name;
  std::vector<LayerWeights> layers;
};

struct TrainedModel {
  std::shared_ptr<const NetFile> net;
  std::vector<NamedWeights> weights;  ///< in order
};

struct PredictorOptions {
  std::vector<std::string> outputs = {};     ///< the blobs wanted, any of the net's; empty: those that no layer reads
  ContextOptions context = {.threads = 0};   ///< of one request; threads 0: as many as there are cores
  int64_t batch = 0;                         ///< images in most requests, 0: as the file says. Others work, too
  std::map<std::string, Shape> shapes = {};  ///< of inputs in most requests, where the file's are not meant
  caffe::NetState state = {};                ///< phase TEST unless it says otherwise
};

class Predictor {
 public:
  /// `model`: a deploy prototxt, whose data come by Input or MemoryData layers, or an ONNX model. `weights`: files of
  /// weights, copied in order by layer name; none: the model's own, where the net was read from one. Throws Error for
  /// what is wrong with a file, Error(kUsage) where the net has weights and none are given.
  Predictor(const std::string& model, const std::vector<std::string>& weights, PredictorOptions options = {});
  Predictor(std::shared_ptr<const NetFile> model, const std::vector<std::string>& weights,
            PredictorOptions options = {});
  explicit Predictor(TrainedModel model, PredictorOptions options = {});
  ~Predictor();
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  /// The outputs for one batch. Every input that they depend on is to be given, with as many axes as declared and any
  /// extents that the net's layers and weights allow. Equal inputs give equal bits, whichever thread asks, those of a
  /// net whose file has these shapes. Thread-safe. Throws Error(kUsage) for a missing or unknown name, Error(kData) for
  /// a shape that does not fit, with the layer that rejects it.
  Arrays predict(const Arrays& inputs);

  /// Makes ready what `count` requests at once with inputs of these shapes need, and keeps as much from now on, so that
  /// none of them waits for a plan. They are computed by `threads`; 0: by as many as others. Throws as predict() does.
  void prepare(const std::map<std::string, Shape>& shapes, int count, int threads = 0);
  int threads() const { return options_.context.threads; }

  const std::map<std::string, Shape>& inputs() const { return inputs_; }  ///< names and declared shapes
  const std::vector<std::string>& outputs() const { return outputs_; }
  /// What an output has for the batch that most requests have.
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
  int threads_for(const Shapes& shapes) const;  ///< under the lock
  void give_back(std::shared_ptr<Worker> worker);
  size_t idle_shapes() const;  ///< under the lock

  std::shared_ptr<const NetFile> file_;
  PredictorOptions options_;
  Shapes inputs_;
  std::vector<std::vector<Shape>> weight_shapes_;  ///< of each layer, for the declared inputs
  bool declared_fit_ = true;                       ///< the net's file is right about its inputs
  std::vector<std::string> needed_;                ///< inputs that the outputs depend on
  std::vector<std::string> outputs_;
  std::shared_ptr<Worker> owner_;  ///< its net has the weights
  std::mutex mutex_;
  std::vector<std::shared_ptr<Worker>> idle_;     ///< the one used last is the last
  std::vector<std::pair<Shapes, int>> prepared_;  ///< and by how many threads they are computed
  size_t most_idle_, most_shapes_;                ///< nets waiting for requests, and shapes that they are for
};

/// Whether a blob may have shape `have` where `wanted` is declared, as far as the blob alone tells: as many axes, and
/// not empty. Throws Error(kData) that begins with `what` ("x.npy") otherwise.
void check_input_shape(const std::string& what, const std::string& blob, const Shape& have, const Shape& wanted);

}  // namespace cortado

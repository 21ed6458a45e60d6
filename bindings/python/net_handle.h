#pragma once

// Python's handles of nets: nets of files, and nets of a solver.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/python/training.h"
#include "core/context.h"
#include "net/observed_net.h"
#include "proto/files/read_text.h"

namespace cortado::pymodule {

/// Keeps a net and its weights alive. Not thread-safe.
class WeightHolder {
 public:
  virtual ~WeightHolder() = default;
  /// The net, ready for use in this thread.
  virtual Net& net() = 0;
};

/// A handle; net() is the current net.
class NetHandle : public WeightHolder {
 public:
  /// The net that has the current gradients of the weights of a layer.
  virtual Net& gradients_of(const std::string& /*layer*/) { return net(); }
  /// The owner of the weights, which stays valid if this handle's net later shares others.
  virtual std::shared_ptr<WeightHolder> weights() = 0;
  /// The owner that a net must keep while it shares the weights.
  virtual std::shared_ptr<WeightHolder> lasting_weights() { return weights(); }
  /// The net with readable blobs and gradients. Throws Error(kUsage) if it was made without observe.
  virtual ObservedNet& open() = 0;
  /// The same net, or one of its first layers: the one that has the current shape of a blob, or that runs all layers up
  /// to `last`. The latter throws Error where the shapes that were set do not fit a layer.
  virtual ObservedNet& open_for(const std::string& /*blob*/) { return open(); }
  virtual ObservedNet& open_up_to(size_t /*last*/) { return open(); }
  virtual void clear_weight_gradients() { open().clear_weight_gradients(); }
  /// Sets shapes of inputs; keeps weights and positions in datasets. Layers that do not fit are errors when they run.
  virtual void reshape(const std::map<std::string, Shape>& inputs) = 0;
  /// Called before a pass over all layers.
  virtual void begin_pass() {}
};

struct NetOptions {
  caffe::NetState state = {};  ///< including the phase
  int threads = 0;             ///< 0: all cores
  uint64_t seed = 1;           ///< seed of the fillers
  Device device = {};
};

/// A net of a file, whose weights others may share. As in Caffe, layers may run whose input the script has reshaped,
/// while later ones do not fit: then a second net of only the first layers runs.
class OwnNet : public NetHandle {
 public:
  OwnNet(NetFile file, const NetOptions& options);

  Net& net() override { return open().net(); }
  std::shared_ptr<WeightHolder> weights() override { return owner_; }
  Net& gradients_of(const std::string& layer) override;
  ObservedNet& open() override;
  ObservedNet& open_for(const std::string& blob) override;
  ObservedNet& open_up_to(size_t last) override;
  void clear_weight_gradients() override;
  void reshape(const std::map<std::string, Shape>& inputs) override;
  void begin_pass() override { ++context_->pass; }
  /// Shares the weights of `other` for layers with the same name.
  void share(NetHandle& other);

 private:
  /// A net of the file, or of its first layers, and its observer.
  struct Running {
    std::shared_ptr<Net> net;
    std::unique_ptr<ObservedNet> observed;
  };

  graph::BuildOptions build_options() const;
  Running make(const graph::BuildOptions& options, Net* weights_of) const;
  Running make_first_layers(const Error& misfit) const;
  void take(Running whole);
  void take_shapes();
  void copy_state_to(ObservedNet& made) const;

  std::shared_ptr<const NetFile> file_;
  caffe::NetState state_;
  std::shared_ptr<Context> context_;
  std::map<std::string, Shape> shapes_;  ///< shapes of the inputs
  std::shared_ptr<WeightHolder> owner_;
  Running whole_;                ///< with the owner's weights, and the latest shapes that fit all layers
  Running first_layers_;         ///< has the current shapes, if whole_ has not
  std::optional<Error> misfit_;  ///< why first_layers_ has no more layers
};

/// A net of a solver: 0 is the training net, the others are test nets.
class SolverNet : public NetHandle {
 public:
  SolverNet(std::shared_ptr<Training> training, size_t index) : training_(std::move(training)), index_(index) {}

  Net& net() override { return training_->net(index_); }
  std::shared_ptr<WeightHolder> weights() override;
  std::shared_ptr<WeightHolder> lasting_weights() override;
  ObservedNet& open() override { return training_->observed(index_); }
  void reshape(const std::map<std::string, Shape>& inputs) override;
  /// A pass outside of an iteration needs its own number.
  void begin_pass() override { ++net().context().pass; }

 private:
  std::shared_ptr<Training> training_;
  size_t index_;
};

}  // namespace cortado::pymodule

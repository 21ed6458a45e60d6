#pragma once

// Python's handles of nets: nets of files, and nets of a solver.

#include <map>
#include <memory>
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
  /// The owner of the weights, which stays valid if this handle's net later shares others.
  virtual std::shared_ptr<WeightHolder> weights() = 0;
  /// The owner that a net must keep while it shares the weights.
  virtual std::shared_ptr<WeightHolder> lasting_weights() { return weights(); }
  /// The net with readable blobs and gradients. Throws Error(kUsage) if it was made without observe.
  virtual ObservedNet& open() = 0;
  /// Sets shapes of inputs; keeps weights and positions in datasets.
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

/// A net of a file, whose weights others may share.
class OwnNet : public NetHandle {
 public:
  OwnNet(NetFile file, const NetOptions& options);

  Net& net() override { return open().net(); }
  std::shared_ptr<WeightHolder> weights() override { return owner_; }
  ObservedNet& open() override;
  void reshape(const std::map<std::string, Shape>& inputs) override;
  void begin_pass() override { ++context_->pass; }
  /// Shares the weights of `other` for layers with the same name.
  void share(NetHandle& other);

 private:
  std::shared_ptr<Net> make(Net* weights_of);
  void take(std::shared_ptr<Net> made);

  std::shared_ptr<const NetFile> file_;
  caffe::NetState state_;
  std::shared_ptr<Context> context_;
  std::map<std::string, Shape> shapes_;  ///< shapes of the inputs
  std::shared_ptr<WeightHolder> owner_;
  std::shared_ptr<Net> net_;  ///< has the current shapes, and the owner's weights
  std::unique_ptr<ObservedNet> observed_;
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

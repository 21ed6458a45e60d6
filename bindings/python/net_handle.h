#pragma once

// The nets that Python looks at: its own, and those of a solver.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bindings/python/training.h"
#include "core/context.h"
#include "net/observed_net.h"
#include "proto/files/read_text.h"

namespace cortado::pymodule {

/// A net with the weights that a file names, for as long as somebody has it. One thread uses it at a time.
class WeightHolder {
 public:
  virtual ~WeightHolder() = default;
  /// Ready to be worked with in this thread.
  virtual Net& net() = 0;
};

/// The net as it is now is net().
class NetHandle : public WeightHolder {
 public:
  /// Which has the weights, also when this handle's net shares others by then.
  virtual std::shared_ptr<WeightHolder> weights() = 0;
  /// What another net needs that shares the weights for as long as it lives.
  virtual std::shared_ptr<WeightHolder> lasting_weights() { return weights(); }
  /// The same to be looked at. Throws Error(kUsage) where it was not made for that.
  virtual ObservedNet& open() = 0;
  /// Other shapes for some of the inputs; weights and places in datasets stay.
  virtual void reshape(const std::map<std::string, Shape>& inputs) = 0;
  /// Before a pass over all layers.
  virtual void begin_pass() {}
};

struct NetOptions {
  caffe::NetState state = {};  ///< with a phase
  int threads = 0;             ///< 0: all cores
  uint64_t seed = 1;           ///< of the fillers
  Device device = {};
};

/// A net of a file, with weights that others may share.
class OwnNet : public NetHandle {
 public:
  OwnNet(NetFile file, const NetOptions& options);

  Net& net() override { return open().net(); }
  std::shared_ptr<WeightHolder> weights() override { return owner_; }
  ObservedNet& open() override;
  void reshape(const std::map<std::string, Shape>& inputs) override;
  void begin_pass() override { ++context_->pass; }
  /// From now on the weights of `other`, live, for layers of the same name.
  void share(NetHandle& other);

 private:
  std::shared_ptr<Net> make(Net* weights_of);
  void take(std::shared_ptr<Net> made);

  std::shared_ptr<const NetFile> file_;
  caffe::NetState state_;
  std::shared_ptr<Context> context_;
  std::map<std::string, Shape> shapes_;  ///< of the inputs
  std::shared_ptr<WeightHolder> owner_;
  std::shared_ptr<Net> net_;  ///< which has the shapes of now, and the owner's weights
  std::unique_ptr<ObservedNet> observed_;
};

/// One of a solver's: number 0 learns, the others test.
class SolverNet : public NetHandle {
 public:
  SolverNet(std::shared_ptr<Training> training, size_t index) : training_(std::move(training)), index_(index) {}

  Net& net() override { return training_->net(index_); }
  std::shared_ptr<WeightHolder> weights() override;
  std::shared_ptr<WeightHolder> lasting_weights() override;
  ObservedNet& open() override { return training_->observed(index_); }
  void reshape(const std::map<std::string, Shape>& inputs) override;
  /// An iteration of the training numbers its passes itself.
  void begin_pass() override { ++net().context().pass; }

 private:
  std::shared_ptr<Training> training_;
  size_t index_;
};

}  // namespace cortado::pymodule

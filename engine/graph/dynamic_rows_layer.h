#pragma once

// A layer after one whose number of rows depends on its values (layers/roles.h). The plan reserves memory for the
// largest number of rows. Each pass runs an instance of the layer made for the actual shapes, in the first part of that
// memory; the rest of y is 0. Instances are cached, because shapes repeat, and share what the layer carries from pass
// to pass. Such a layer has plain layout, fuses nothing that needs another operand or derived weights, and is launched
// by the host on a device.

#include <functional>
#include <list>

#include "core/device/device_memory.h"
#include "graph/graph.h"
#include "layers/roles.h"

namespace cortado::graph {

class DynamicRowsLayer final : public Layer, public Scoring, public BatchMemory {
 public:
  /// `most`: the layer, inferred for the largest number of rows; `make` creates another with the same options.
  DynamicRowsLayer(std::string name, std::unique_ptr<Layer> most, std::function<std::unique_ptr<Layer>()> make)
      : name_(std::move(name)), most_(std::move(most)), make_(std::move(make)) {}

  LayerShapes infer(const std::vector<Shape>& x) override { return most_->infer(x); }
  std::optional<kernels::PostOp> as_post_op() const override;
  bool accepts(const kernels::PostOps& post, NetMode) const override {
    return !post.sum && most_->accepts(post, NetMode::kTraining);
  }
  /// Only fusions that add no operand and do not sum gradients.
  std::vector<Fusion> fusions(const FusionQuery& query) const override;
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  /// Throws Error(kNet) where the layer cannot be prepared for the actual shapes.
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;
  void validate(Context& context, const Operands& io) override;

  bool differentiable(int i) const override { return most_->differentiable(i); }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>& y) const override { return most_->flops(x, y); }
  LayerRoles roles() override { return {.needs_host = true, .memory = memory() ? this : nullptr, .scoring = this}; }

  bool is_stateful() const override { return memory()->is_stateful(); }
  std::span<float> carried() override { return memory()->carried(); }

  Ratio quotient(size_t k) const override;
  int64_t note_classes(Context& context) override;
  PredictedClasses predictions() const override;
  int64_t detection_classes() const override;

 private:
  /// The layer for one set of input shapes.
  struct Instance {
    std::vector<Shape> x, y;
    std::unique_ptr<Layer> layer;
    DeviceMemory scratch;  ///< where it needs more than the plan reserved
  };

  Instance& instance_for(Context& context, const Operands& io);
  Instance make_instance(Context& context, std::vector<Shape> x);
  BatchMemory* memory() const { return most_->roles().memory; }
  template <typename Pass>
  void run(Context& context, Instance& instance, const Pass& pass);
  const Scoring* scoring() const;  ///< of the last pass; null: none
  Operands operands_of(const Instance& instance, const Operands& io) const;

  std::string name_;
  std::unique_ptr<Layer> most_;
  std::function<std::unique_ptr<Layer>()> make_;
  PrepareRequest request_;
  LayerNeeds needs_;
  bool notes_classes_ = false;
  std::list<Instance> instances_;  ///< most recently used first
};

}  // namespace cortado::graph

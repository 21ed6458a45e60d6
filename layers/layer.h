#pragma once

// The contract of a layer. A layer knows its options and its operands; it knows nothing of its neighbours, its file,
// the layout pass, loss weights, iteration counts or devices. Its life:
//   1. infer()    shapes in, shapes and weights out; every mistake in the options is found here
//   2. as_post_op(), accepts()  what the layer before may take over, and what this one takes (Convolution a ReLU)
//   3. storage(), fusions()  which storage it runs in; what it could share with its neighbours
//   4. prepare()  once everything is decided: makes its kernels, says what it must keep and how much scratch it wants
//   5. forward(), backward()  any number of times; they allocate nothing and decide nothing

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/context.h"
#include "data/batch_share.h"
#include "kernels/post_ops.h"
#include "layers/fusion.h"
#include "layers/operands.h"
#include "layers/roles.h"
#include "layers/storage_rule.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// What a layer is made from. The message outlives the layer.
struct LayerOptions {
  const caffe::LayerParameter& config;
  caffe::Phase phase = caffe::TRAIN;
  int data_threads = 0;         ///< decoding threads, whatever data_param says; 0: what it says
  uint64_t seed = 1;            ///< of data order and augmentation
  data::BatchShare share = {};  ///< which batches of the data are taken
  bool open_data = true;        ///< false: datasets are not touched; shapes that only they know come out unknown
  int64_t skip_bad = 0;         ///< of each dataset, the bad records that others may stand in for
};

inline constexpr int64_t kFloatBytes = sizeof(float);

class Layer {
 public:
  virtual ~Layer() = default;

  /// Known before infer().
  virtual LayerRoles roles() { return {}; }

  /// Shapes and weights from the shapes of x. Throws FieldError with the field's path below the layer's message.
  virtual LayerShapes infer(const std::vector<Shape>& x) = 0;

  /// What the layer does, seen from the one before it, where that may do it as well. Its weights, if any, are those
  /// that the step lists. Called after infer().
  virtual std::optional<kernels::PostOp> as_post_op() const { return std::nullopt; }
  /// Whether the layer, told so by PrepareRequest::post, writes what y[0] would be after `post`, in nets of that mode.
  /// The weights of `post` follow its own, a sum's operand is its last x. Called after infer().
  virtual bool accepts(const kernels::PostOps& post, NetMode mode) const {
    (void)post, (void)mode;
    return false;
  }

  /// The sides of fusions that the layer could take.
  virtual std::vector<Fusion> fusions(const FusionQuery& query) const {
    (void)query;
    return {};
  }

  /// With `post` taken over.
  virtual StorageRule storage(const kernels::PostOps& post) const {
    (void)post;
    return {};
  }

  /// Makes the kernels. Called once per plan, after layouts are fixed. `context` gives threads and handles.
  virtual LayerNeeds prepare(const PrepareRequest& request, Context& context) = 0;

  virtual void forward(Context& context, const Operands& io) = 0;
  virtual void backward(Context& context, const Operands& io) {
    (void)context;
    (void)io;
  }

  /// Throws Error(kData) where values of x are not what forward() takes, like a label that is no class; forward() makes
  /// y NaN of them. The net calls it before forward() on the CPU and, as it waits for the device, after a NaN on
  /// others.
  virtual void validate(Context& context, const Operands& io) {
    (void)context;
    (void)io;
  }

  /// Writes y[0] once more, the very bits of the latest forward(), from x, w and saved, and changes nothing else: no
  /// statistics, no position. Called between forward and backward, where LayerNeeds::can_recompute_y.
  virtual void recompute(Context& context, const Operands& io) { forward(context, io); }

  /// Whether a gradient can flow from y to x[i] (Accuracy: none; losses: not to labels).
  virtual bool differentiable(int i) const {
    (void)i;
    return true;
  }
  virtual int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>& y) const;  ///< of one forward; 1 MAC = 2
};

/// Element-wise default: one operation for each element of y.
inline int64_t Layer::flops(const std::vector<Shape>&, const std::vector<Shape>& y) const {
  int64_t sum = 0;
  for (const Shape& shape : y) sum += shape.count();
  return sum;
}

}  // namespace cortado

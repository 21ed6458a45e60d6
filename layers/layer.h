#pragma once

// The interface of a layer. A layer knows its options and its operands. It does not know its neighbours, its file, the
// layout pass, loss weights, iteration counts or devices. The calls, in order:
//   1. infer()    shapes in, shapes and weights out; reports every error in the options
//   2. as_post_op(), accepts()  which steps can be fused into the previous layer, and into this one (a ReLU into
//   Convolution)
//   3. storage(), fusions()  the storage that it supports; the fusions with its neighbours that it supports
//   4. prepare()  after all decisions: creates the kernels, returns the saved values and the scratch that it needs
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

/// The arguments for creating a layer. The message must outlive the layer.
struct LayerOptions {
  const caffe::LayerParameter& config;
  caffe::Phase phase = caffe::TRAIN;
  int data_threads = 0;         ///< decoding threads, overrides data_param; 0: as in data_param
  uint64_t seed = 1;            ///< of the data order and of augmentation
  data::BatchShare share = {};  ///< the batches of the data that this process reads
  bool open_data = true;        ///< false: datasets are not opened; shapes that depend on them are unknown
  int64_t skip_bad = 0;         ///< for each dataset, the number of bad records that may be replaced by others
};

inline constexpr int64_t kFloatBytes = sizeof(float);

class Layer {
 public:
  virtual ~Layer() = default;

  /// May be called before infer().
  virtual LayerRoles roles() { return {}; }

  /// Shapes of y and weights from the shapes of x. Throws FieldError with the field's path relative to the layer's
  /// message.
  virtual LayerShapes infer(const std::vector<Shape>& x) = 0;

  /// The checks of infer() that need no shapes, for a layer whose bottoms have unknown shapes. Throws FieldError.
  virtual void check_without_shapes() const {}

  /// The layer as a step that the previous layer can fuse, if there is one. Its weights, if any, are those that the
  /// step lists. Called after infer().
  virtual std::optional<kernels::PostOp> as_post_op() const { return std::nullopt; }
  /// Whether the layer, given `post` in PrepareRequest::post, can write y[0] as it is after `post`, in nets of that
  /// mode. The weights of `post` follow its own; the operand of a sum is its last x. Called after infer().
  virtual bool accepts(const kernels::PostOps& post, NetMode mode) const {
    (void)post, (void)mode;
    return false;
  }

  /// The sides of fusions that the layer supports.
  virtual std::vector<Fusion> fusions(const FusionQuery& query) const {
    (void)query;
    return {};
  }

  /// The supported storage, with `post` fused.
  virtual StorageRule storage(const kernels::PostOps& post) const {
    (void)post;
    return {};
  }

  /// Creates the kernels. Called once per plan, after layouts are fixed. `context` has the threads and library handles.
  virtual LayerNeeds prepare(const PrepareRequest& request, Context& context) = 0;

  virtual void forward(Context& context, const Operands& io) = 0;
  virtual void backward(Context& context, const Operands& io) {
    (void)context;
    (void)io;
  }

  /// Throws Error(kData) for values of x that forward() does not accept, such as a label that is not a class; forward()
  /// sets y to NaN for those. On the CPU the net calls it before forward(). On other devices the net calls it after a
  /// NaN, when it synchronizes.
  virtual void validate(Context& context, const Operands& io) {
    (void)context;
    (void)io;
  }

  /// Writes y[0] again, bit-identical to the latest forward(), from x, w and saved. Changes nothing else: no
  /// statistics, no position. Called between forward and backward, if LayerNeeds::can_recompute_y.
  virtual void recompute(Context& context, const Operands& io) { forward(context, io); }

  /// Whether a gradient flows from y to x[i]. Accuracy: none; losses: not to labels.
  virtual bool differentiable(int i) const {
    (void)i;
    return true;
  }
  virtual int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>& y) const;  ///< of one forward; 1 MAC = 2
};

/// The default for element-wise layers: one operation for each element of y.
inline int64_t Layer::flops(const std::vector<Shape>&, const std::vector<Shape>& y) const {
  int64_t sum = 0;
  for (const Shape& shape : y) sum += shape.count();
  return sum;
}

}  // namespace cortado

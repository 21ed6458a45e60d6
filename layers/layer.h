#pragma once

// The contract of a layer. A layer knows its options and its operands; it knows nothing of its neighbours, its file,
// the layout pass, loss weights, iteration counts or devices. Its life:
//   1. infer()    shapes in, shapes and weights out; every mistake in the options is found here
//   2. as_post_op(), accepts()  what the layer before may take over, and what this one takes (Convolution a ReLU)
//   3. layouts(), types()  which storage it runs in
//   4. prepare()  once everything is decided: makes its kernels, says what it must keep and how much scratch it wants
//   5. derive()   where prepare() asked for it: after the weights were set, before the next forward()
//   6. forward(), backward()  any number of times; they allocate nothing and decide nothing

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/context.h"
#include "data/batch_share.h"
#include "kernels/post_ops.h"
#include "layers/operands.h"
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
};

/// A weight blob as the user sees it.
struct WeightSpec {
  Shape shape;                    ///< in Caffe's order (OIHW and so on)
  caffe::FillerParameter filler;  ///< how it starts
  bool learned = true;  ///< false: the layer keeps it by itself (BatchNorm's statistics), solvers leave it alone
};

/// What infer() finds out.
struct LayerShapes {
  std::vector<Shape> y;
  std::vector<WeightSpec> w;
};

/// Which layouts a layer's four-axis operands may have.
enum class LayoutRule {
  kPlain,      ///< x and y are plain
  kFollow,     ///< whatever x[0] has; all other x and all y the same. Runs blocked only where padding lanes stay zero
  kPreferred,  ///< what the device's libraries like best; blocks of 16 channels only if the layer suits_blocks(), and
               ///< then x[0] may stay plain if it accepts_plain_x()
};

/// Which types of floating-point values (32-bit floats or 16-bit ones) a layer's operands may have. dx has the type of
/// x, dy that of y. Weights, their gradients and statistics are 32-bit floats whatever this says.
enum class TypeRule {
  kFloat,   ///< 32-bit floats alone
  kFollow,  ///< whatever x[0] has; all other x and all y the same
  kHalf,    ///< the plan's 16-bit type for all x and y, where it has one
  kReads,   ///< x[0] may have any type; all else is 32-bit floats
  kMakes,   ///< y[0] may have any type; all else is 32-bit floats
};

/// How a layer of a frozen net takes part in arithmetic on 8-bit integers, which lie channels last.
enum class EightBitRule {
  kNone,      ///< not at all
  kFollow,    ///< x and y may be integers, all with the same scale
  kComputes,  ///< x[0] is integers, and y[0] too or 32-bit floats; a sum's operand is of y[0]'s size. Plain where the
              ///< LayoutRule is kPlain
};

inline constexpr int64_t kFloatBytes = sizeof(float);

/// What a net is for. Frozen: its weights never change once they are set, and it has no backward.
enum class NetMode { kTraining, kFrozen };

class Layer {
 public:
  virtual ~Layer() = default;

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

  /// Whether backward, with `post` taken over, begins with dy[0] = 0 where y[0] is not positive: what a reader may do.
  virtual bool masks_dy(const kernels::PostOps& post) const {
    (void)post;
    return false;
  }
  /// Whether backward can make dx[0] 0 wherever x[0] is not positive without reading x[0].
  virtual bool can_mask_dx() const { return false; }

  /// Whether backward, on devices whose kernels do, adds up two tensors that together are y[0]'s gradient.
  virtual bool takes_two_dy() const { return false; }
  /// Likewise, whether forward, with `post` taken over, writes the sums of each channel of y[0], and of its squares, as
  /// one more y, 2 x C floats; and whether it takes such sums of x[0] as one more x, behind all others.
  virtual bool writes_channel_sums(const kernels::PostOps& post) const {
    (void)post;
    return false;
  }
  virtual bool reads_channel_sums() const { return false; }
  /// Likewise, whether forward, with `post` taken over, can leave the map of x[0] to y[0] to who reads that: y[0] is
  /// x[0]'s memory then, and one more y has a factor and then a term for each channel, 2 x C floats; and whether
  /// forward takes the other operand of a sum so, with these as one more x, behind all others but sums of channels.
  virtual bool leaves_map(const kernels::PostOps& post) const {
    (void)post;
    return false;
  }
  virtual bool takes_map() const { return false; }

  virtual LayoutRule layouts() const { return LayoutRule::kPlain; }
  virtual bool suits_blocks() const { return true; }
  virtual bool accepts_plain_x() const { return false; }
  virtual TypeRule types() const { return TypeRule::kFloat; }
  /// With `post` taken over. Whoever says other than kNone is not asked for layouts() and types() where it is so.
  virtual EightBitRule eight_bits(const kernels::PostOps& post) const {
    (void)post;
    return EightBitRule::kNone;
  }

  /// Makes the kernels. Called once per plan, after layouts are fixed. `context` gives threads and handles.
  virtual LayerNeeds prepare(const PrepareRequest& request, Context& context) = 0;

  /// Writes io.derived out of io.w; nothing else of `io` is looked at. May allocate.
  virtual void derive(Context& context, const Operands& io) {
    (void)context;
    (void)io;
  }

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

  /// Whether forward() waits for the host (data, files), so that it cannot be a part of work that a device is told
  /// once.
  virtual bool forward_needs_host() const { return false; }
};

/// Element-wise default: one operation for each element of y.
inline int64_t Layer::flops(const std::vector<Shape>&, const std::vector<Shape>& y) const {
  int64_t sum = 0;
  for (const Shape& shape : y) sum += shape.count();
  return sum;
}

}  // namespace cortado

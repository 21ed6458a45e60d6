#pragma once

// The contract of a layer. A layer knows its options and its operands; it knows nothing of its neighbours, its file,
// the layout pass, loss weights, iteration counts or devices. Its life:
//   1. infer()    shapes in, shapes and weights out; every mistake in the options is found here
//   2. absorb(), absorb_sum(), fold()  may take over a follower's work (Convolution takes a ReLU); hand_relu_mask()
//   gives some
//      of it to the reader
//   3. layouts(), types()  which storage it runs in
//   4. prepare()  once everything is decided: makes its kernels, says what it must keep and how much scratch it wants
//   5. derive()   where prepare() asked for it: after the weights were set, before the next forward()
//   6. forward(), backward()  any number of times; they allocate nothing and decide nothing

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/tensor.h"
#include "kernels/weight_format.h"
#include "layers/channel_affine.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// What a layer is made from. The message outlives the layer.
struct LayerOptions {
  const caffe::LayerParameter& config;
  caffe::Phase phase = caffe::TRAIN;
  int data_threads = 0;   ///< decoding threads, whatever data_param says; 0: what it says
  uint64_t seed = 1;      ///< of data order and augmentation
  bool open_data = true;  ///< false: datasets are not touched; shapes that only they know come out unknown
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

/// What the planner has decided for one layer, told once.
struct PrepareRequest {
  std::vector<TensorSpec> x, y, w;    ///< shapes and layouts; w in the user's shapes
  std::vector<bool> wants_dx;         ///< per x; all false: backward is never called for x's sake
  std::vector<bool> wants_dw;         ///< per w
  std::vector<bool> has_dy;           ///< per y: false where nobody's gradient arrives (dy is null then)
  bool backward = false;              ///< whether backward() will be called at all
  bool frozen = false;                ///< w never changes once it is set, so LayerNeeds::derived may be asked for
  bool adds_dw = false;               ///< whether Operands::adds() may be true of a weight
  bool fixed_weight_formats = false;  ///< w's storage is given: another net owns the memory
  std::vector<kernels::WeightFormat> w_formats;  ///< then these are the formats
  uint64_t layer_seed = 0;  ///< unique for this layer in this net, the same in every run: keys its random draws
};

/// Which operands of a layer may, or do, lie in the same memory. The planner goes by it.
struct Aliasing {
  bool y_may_overwrite_x = false;    ///< forward works with y[0] in x[overwritten_x]'s memory
  size_t overwritten_x = 0;          ///< not 0: that x alone has that memory then, and it is worth having
  bool dx_may_overwrite_dy = false;  ///< backward works with the first wanted dx in dy[0]'s memory
  bool last_dx_overwrites = false;   ///< ... with the last wanted one there instead
  bool view = false;                 ///< every y is x[0]'s memory, seen in its own shape; forward does nothing
  bool y_persists = false;           ///< y keeps its content between calls: constants, inputs set from outside
  bool dx_is_dy = false;             ///< every dx is dy[0]'s memory; backward does nothing for x
  bool dx_are_one = false;           ///< all dx hold the same values: they share one memory, written once
  bool overwrites_dy = false;        ///< backward spoils dy[0]; the planner gives it a copy where others still read it

  bool operator==(const Aliasing&) const = default;
};

/// What a layer asks of the planner, told once. Sizes in bytes.
struct LayerNeeds {
  std::vector<kernels::WeightFormat> w_formats;  ///< how each weight is to be stored; empty: all plain
  std::vector<kernels::WeightFormat> derived;    ///< what derive() makes of w for forward(); frozen layers only
  std::vector<bool> backward_reads_x;            ///< per x; empty: none
  std::vector<bool> backward_reads_y;            ///< per y; empty: none
  Aliasing aliasing;
  std::vector<int64_t> saved;     ///< memory kept from forward to backward (masks, indices, statistics)
  bool last_saved_for_y = false;  ///< the last of them says what backward wants to know of y[0]; where y[0] is kept
                                  ///< for another's sake it is null, and backward reads y[0]
  bool can_recompute_y = false;   ///< recompute() makes y[0], the only y, again; saves the memory more than the time
  int64_t forward_scratch = 0, backward_scratch = 0, recompute_scratch = 0;
  std::string algorithm;  ///< what was chosen, for people ("onednn jit:avx512_core")
};

/// The operands of one call, bound once before the first. Pointers do not change between calls.
struct Operands {
  std::vector<Tensor> x, y;    ///< y is written by forward; by backward only read, and only if it was asked for
  std::vector<Tensor> dx, dy;  ///< dx[i].data is null where it is not wanted, dy[i].data where nothing arrives
  std::vector<Tensor> w, dw;   ///< storage in the formats of LayerNeeds; dw[i].data is null where it is not wanted
  std::vector<void*> derived;  ///< one per LayerNeeds::derived, in those formats; forward only
  std::vector<bool> add_dw;  ///< per w: add to dw (later readers of shared weights); else overwrite it, padding with 0
  std::vector<void*> saved;  ///< one per LayerNeeds::saved; null where it has no bytes
  void* scratch = nullptr;
  std::vector<const Shape*> x_rows;  ///< per x with dynamic rows (dynamic_rows.h) its shape in this pass, else null
  std::vector<Shape*> y_rows;        ///< likewise per y; forward writes them. Empty in nets without such values
  bool accumulate = false;  ///< set for the second and later passes of one iteration (iter_size > 1): add to every dw
  bool adds(size_t i) const { return accumulate || add_dw[i]; }
};

class Layer {
 public:
  virtual ~Layer() = default;

  /// Shapes and weights from the shapes of x. Throws FieldError with the field's path below the layer's message.
  virtual LayerShapes infer(const std::vector<Shape>& x) = 0;

  /// Takes over the work of `next`, the only reader of y[0]: from then on this layer writes what `next` would have
  /// written. `next`'s weights follow this layer's own. Called after both inferred. Returns false (and changes nothing)
  /// if it cannot.
  virtual bool absorb(const Layer& next) {
    (void)next;
    return false;
  }

  /// A ReLU at this layer's end makes backward begin with dy[0] = 0 where y[0] is 0. Leaves that to `reader`, the only
  /// reader of y[0], by its take_relu_mask(); then backward does not read y[0]. False (and nothing changes): no.
  virtual bool hand_relu_mask(Layer& reader) {
    (void)reader;
    return false;
  }
  /// From then on dx[0] is 0 wherever x[0] is not positive, which backward finds out without reading x[0]. False: it
  /// cannot.
  virtual bool take_relu_mask() { return false; }

  /// Takes over `next`, two operands added (adds_two), of which y[0] is one: the other becomes the last x. Like
  /// absorb().
  virtual bool absorb_sum(const Layer& next) {
    (void)next;
    return false;
  }
  /// Whether y is x[0] + x[1] and nothing more.
  virtual bool adds_two() const { return false; }
  /// Whether absorb_sum() is for every net; else it is for frozen ones, which have no backward.
  virtual bool sums_in_training() const { return false; }

  /// Takes over `next`, which has channel_affine() of y[0]'s channels, by weights that derive() makes: for layers that
  /// are linear in their weights, in nets whose weights never change. Like absorb().
  virtual bool fold(const Layer& next) {
    (void)next;
    return false;
  }
  /// What the layer does, where that is one factor and one term for each channel, out of its weights.
  virtual std::optional<ChannelAffine> channel_affine() const { return std::nullopt; }

  virtual LayoutRule layouts() const { return LayoutRule::kPlain; }
  virtual bool suits_blocks() const { return true; }
  virtual bool accepts_plain_x() const { return false; }
  virtual TypeRule types() const { return TypeRule::kFloat; }

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

  /// Loss layers: y[0] has loss weight 1 unless the user says otherwise.
  virtual bool is_loss() const { return false; }
  /// Whether a gradient can flow from y to x[i] (Accuracy: none; losses: not to labels).
  virtual bool differentiable(int i) const {
    (void)i;
    return true;
  }
  virtual int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>& y) const;  ///< of one forward; 1 MAC = 2

  /// Whether forward() waits for the host (data, files), so that it cannot be a part of work that a device is told
  /// once.
  virtual bool forward_needs_host() const { return position().has_value(); }

  /// Data layers: records consumed since training began; seek() continues there. Others have no position.
  virtual std::optional<uint64_t> position() const { return std::nullopt; }
  virtual void seek(uint64_t position) { (void)position; }
  /// Data layers: seconds spent waiting for data so far.
  virtual double wait_seconds() const { return 0; }
};

/// Element-wise default: one operation for each element of y.
inline int64_t Layer::flops(const std::vector<Shape>&, const std::vector<Shape>& y) const {
  int64_t sum = 0;
  for (const Shape& shape : y) sum += shape.count();
  return sum;
}

}  // namespace cortado

#pragma once

// What a plan and a layer tell each other: what was decided, what the layer needs for that, and the operands of a call.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/tensor.h"
#include "kernels/post_ops.h"
#include "kernels/weight_format.h"
#include "layers/fusion.h"
#include "proto/cortado.pb.h"

namespace cortado {

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

/// What the planner has decided for one layer, told once.
struct PrepareRequest {
  std::vector<TensorSpec> x, y, w;  ///< shapes and layouts; w in the user's shapes
  std::vector<bool> wants_dx;       ///< per x; all false: backward is never called for x's sake
  std::vector<bool> wants_dw;       ///< per w
  std::vector<bool> has_dy;         ///< per y: false where no gradient arrives (dy is null then)
  kernels::PostOps post;        ///< what the layer has taken over, by what it accepts(); a sum's operand is the last x
                                ///< but for those that fusions add
  bool backward = false;        ///< whether backward() will be called at all
  std::vector<Fusion> fusions;  ///< agreed on with neighbours
  bool frozen = false;          ///< w never changes once it is set, so LayerNeeds::derived may be asked for
  bool adds_dw = false;         ///< whether Operands::adds() may be true of a weight
  bool fixed_weight_formats = false;  ///< w's storage is given: another net owns the memory
  bool updates_derived = false;       ///< who updates w writes what is derived, too: w in WeightFormat::of_type()
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
  bool y_is_x = false;               ///< y[0] alone is so, and forward does something else
  bool y_persists = false;           ///< y keeps its content between calls: constants, inputs set from outside
  bool dx_is_dy = false;             ///< every dx is dy[0]'s memory; backward does nothing for x
  bool dx_are_one = false;           ///< all dx hold the same values: they share one memory, written once
  bool overwrites_dy = false;        ///< backward spoils dy[0]; the planner gives it a copy where others still read it

  /// Whether y[i] always is x[0]'s memory.
  bool y_is_in_x(size_t i) const { return view || (y_is_x && i == 0); }
  bool operator==(const Aliasing&) const = default;
};

struct Operands;

/// What a layer asks of the planner, told once. Sizes in bytes.
struct LayerNeeds {
  std::vector<kernels::WeightFormat> w_formats;  ///< how each weight is to be stored; empty: all plain
  std::vector<kernels::WeightFormat> derived;  ///< what `derive` makes of w for forward(): in frozen layers; or, where
                                               ///< updates_derived, of each of the first w
  std::vector<bool> backward_reads_x;          ///< per x; empty: none
  std::vector<bool> backward_reads_y;          ///< per y; empty: none
  Aliasing aliasing;
  std::vector<int64_t> saved;     ///< memory kept from forward to backward (masks, indices, statistics)
  bool last_saved_for_y = false;  ///< the last of them says what backward wants to know of y[0]; where y[0] is kept
                                  ///< for another's sake it is null, and backward reads y[0]
  bool can_recompute_y = false;   ///< recompute() makes y[0], the only y, again; saves the memory more than the time
  int64_t forward_scratch = 0, backward_scratch = 0, recompute_scratch = 0;
  /// Writes Operands::derived out of w and looks at nothing else; after the weights were set, before the next
  /// forward(). May allocate. Null where nothing is derived. Of the layer, which outlives it.
  std::function<void(Context& context, const Operands& io)> derive;
  std::string algorithm;  ///< what was chosen, in words ("onednn jit:avx512_core")
};

/// The operands of one call, bound once before the first. Pointers do not change between calls.
struct Operands {
  std::vector<Tensor> x, y;    ///< y is written by forward; by backward only read, and only if it was asked for
  std::vector<Tensor> dx, dy;  ///< dx[i].data is null where it is not wanted, dy[i].data where nothing arrives
  Tensor more_dy;              ///< of y[0], where a fusion leaves the sum of two gradients to the layer; else null
  std::vector<Tensor> w, dw;   ///< storage in the formats of LayerNeeds; dw[i].data is null where it is not wanted
  std::vector<void*> derived;  ///< one per LayerNeeds::derived, in those formats
  std::vector<bool> add_dw;  ///< per w: add to dw (later readers of shared weights); else overwrite it, padding with 0
  std::vector<void*> saved;  ///< one per LayerNeeds::saved; null where it has no bytes
  void* scratch = nullptr;
  std::vector<const Shape*> x_rows;  ///< per x with dynamic rows (dynamic_rows.h) its shape in this pass, else null
  std::vector<Shape*> y_rows;        ///< likewise per y; forward writes them. Empty in nets without such values
  bool accumulate = false;  ///< set for the second and later passes of one iteration (iter_size > 1): add to every dw
  bool adds(size_t i) const { return accumulate || add_dw[i]; }
};

}  // namespace cortado

#pragma once

// The interface between a plan and a layer: what was decided, what the layer needs for it, and the operands of a call.

#include <algorithm>
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

/// A weight blob in the user's format.
struct WeightSpec {
  Shape shape;                    ///< in Caffe's order (OIHW and so on)
  caffe::FillerParameter filler;  ///< initial value
  bool learned = true;            ///< false: the layer updates it (BatchNorm's statistics), solvers leave it alone
};

/// The result of infer().
struct LayerShapes {
  std::vector<Shape> y;
  std::vector<WeightSpec> w;
};

/// The planner's decisions for one layer, passed once.
struct PrepareRequest {
  std::vector<TensorSpec> x, y, w;  ///< shapes and layouts; w in the user's shapes
  std::vector<bool> wants_dx;       ///< per x; all false: backward is never called for the sake of x
  std::vector<bool> wants_dw;       ///< per w
  kernels::PostOps
      post;  ///< the fused steps, as accepts() allows; the operand of a sum is the last x before those that fusions add
  bool backward = false;              ///< whether backward() is ever called
  std::vector<Fusion> fusions;        ///< agreed on with neighbours
  bool observed = false;              ///< blobs and gradients are set one by one: y is a view only where Caffe's is,
                                      ///< and dx is dy only there
  bool frozen = false;                ///< w never changes once it is set, so LayerNeeds::derived may be requested
  bool adds_dw = false;               ///< whether Operands::adds() may be true for a weight
  bool fixed_weight_formats = false;  ///< the formats of w are given, because another net owns the memory
  bool updates_derived = false;  ///< the code that updates w also writes what is derived: w in WeightFormat::of_type()
  std::vector<kernels::WeightFormat> w_formats;  ///< the formats if fixed_weight_formats
  uint64_t layer_seed = 0;  ///< unique for this layer in this net, the same in every run: the key of its random draws
};

/// Which operands of a layer may, or do, share memory. Input of the planner.
struct Aliasing {
  bool y_may_overwrite_x = false;    ///< forward works with y[0] in the memory of x[overwritten_x]
  size_t overwritten_x = 0;          ///< not 0: then only that x may be overwritten, and it is worth it
  bool dx_may_overwrite_dy = false;  ///< backward works with the first requested dx in the memory of dy[0]
  bool last_dx_overwrites = false;   ///< as above, with the last requested dx instead
  bool view = false;                 ///< every y is the memory of x[0] in another shape; forward does nothing
  bool y_is_x = false;               ///< only y[0] is the memory of x[0]; forward computes something else
  bool y_persists = false;           ///< y keeps its content between calls: constants, inputs set by the user
  bool dx_is_dy = false;             ///< every dx is the memory of dy[0]; backward does nothing for x
  bool dx_are_one = false;           ///< all dx hold the same values: they share one memory, written once
  bool overwrites_dy = false;        ///< backward overwrites dy[0]; if others still read it, the planner passes a copy

  /// Whether y[i] is always the memory of x[0].
  bool y_is_in_x(size_t i) const { return view || (y_is_x && i == 0); }
  /// The index of the dx that may be in dy[0]'s memory, if dy[0] has its size; the number of them: none.
  size_t dx_over_dy(const std::vector<bool>& wants_dx) const {
    if (!dx_may_overwrite_dy) return wants_dx.size();
    if (!last_dx_overwrites) return size_t(std::find(wants_dx.begin(), wants_dx.end(), true) - wants_dx.begin());
    const size_t end = size_t(std::find(wants_dx.rbegin(), wants_dx.rend(), true).base() - wants_dx.begin());
    return end > 0 ? end - 1 : wants_dx.size();
  }
  bool operator==(const Aliasing&) const = default;
};

struct Operands;

/// The layer's requests to the planner, passed once. Sizes in bytes.
struct LayerNeeds {
  std::vector<kernels::WeightFormat> w_formats;  ///< the format of each weight; empty: all plain
  std::vector<kernels::WeightFormat> derived;  ///< what `derive` computes from w for forward(): in frozen nets; or, if
                                               ///< updates_derived, from each of the first w
  std::vector<bool> backward_reads_x;          ///< per x; empty: none
  std::vector<bool> backward_reads_y;          ///< per y; empty: none
  Aliasing aliasing;
  std::vector<int64_t> saved;     ///< memory kept from forward to backward (masks, indices, statistics)
  bool last_saved_for_y = false;  ///< the last of them replaces y[0] in backward; if y[0] is kept for another layer, it
                                  ///< is null and backward reads y[0]
  bool can_recompute_y = false;   ///< recompute() writes y[0], the only y, again; this saves more memory than time
  int64_t forward_scratch = 0, backward_scratch = 0, recompute_scratch = 0;
  /// Writes Operands::derived from w and reads nothing else. Called after the weights were set, before the next
  /// forward(). May allocate. Null if nothing is derived. Belongs to the layer, which outlives it.
  std::function<void(Context& context, const Operands& io)> derive;
  std::string algorithm;  ///< the chosen algorithm, for people ("onednn jit:avx512_core")
};

/// The operands of one call, bound once before the first. Pointers do not change between calls.
struct Operands {
  std::vector<Tensor> x, y;    ///< forward writes y; backward may only read it, and only if requested
  std::vector<Tensor> dx, dy;  ///< dx[i].data is null if not requested, dy[i].data if no gradient arrives
  Tensor more_dy;              ///< of y[0], if a fusion leaves the sum of two gradients to the layer; else null
  std::vector<Tensor> w, dw;   ///< in the formats of LayerNeeds; dw[i].data is null if not requested
  std::vector<void*> derived;  ///< one per LayerNeeds::derived, in those formats
  std::vector<bool> add_dw;  ///< per w: add to dw (later readers of shared weights); else overwrite it, padding with 0
  std::vector<void*> saved;  ///< one per LayerNeeds::saved; null for 0 bytes
  void* scratch = nullptr;
  std::vector<const Shape*> x_rows;  ///< per x with dynamic rows (dynamic_rows.h) its shape in this pass, else null
  std::vector<Shape*> y_rows;        ///< likewise per y; forward writes them. Empty in nets without dynamic rows
  bool accumulate = false;  ///< true in the second and later passes of one iteration (iter_size > 1): add to every dw
  bool adds(size_t i) const { return accumulate || add_dw[i]; }
};

}  // namespace cortado

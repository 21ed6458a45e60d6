// Inner product by oneDNN. Weights are stored in blocks of outputs, so that a piece of work reads or writes its own
// blocks. In backward_data each piece has its own sum over its outputs. If these sums would be as large as the weights,
// or if many calls share a weight (turn()), it is a forward product with the transposed weight. Gradients summed over
// many rows are products of the library's GEMM, which is faster, converted to the blocks. A ReLU is always applied
// separately (needs_finite()).

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "core/threads/threads.h"
#include "kernels/cpu/floats.h"
#include "kernels/cpu/onednn/onednn.h"
#include "kernels/cpu/row_sums.h"
#include "kernels/gemm.h"
#include "kernels/inner_product.h"

namespace cortado::kernels {
namespace {

using namespace onednn;
using Forward = dnnl::inner_product_forward;
using BackwardData = dnnl::inner_product_backward_data;
using BackwardWeights = dnnl::inner_product_backward_weights;
constexpr auto kF32 = dnnl::memory::data_type::f32;
using Tag = dnnl::memory::format_tag;

/// Multiplications that take about as long as waking a thread, and the fewest rows of a piece.
constexpr double kPieceProducts = 1 << 18;
constexpr int64_t kMinRows = 16;
/// From this number of rows on the GEMM was never slower, and up to 1.2 times as fast.
constexpr int64_t kManyRows = 640;
/// The largest block of outputs in a format of weights.
constexpr int64_t kOutputs = 64;

int64_t size_of(const Desc& desc) { return int64_t(desc.get_size()); }

int64_t most_pieces(const Context& context, int64_t rows, int64_t inputs, int64_t outputs) {
  return even_pieces(
      std::min(double(context.pieces), double(rows) * double(inputs) * double(outputs) / kPieceProducts));
}

/// Whether the weights of some outputs are contiguous in the format `w`.
bool has_slices(const Desc& w, int64_t outputs) { return with_outputs(w, outputs + kOutputs).has_value(); }

/// Some outputs, and the offset of their weights in bytes.
struct Slice {
  int64_t first, outputs, w;
};

/// At most `pieces` slices of weights with format `w`, which has_slices().
std::vector<Slice> slices_of(const Desc& w, int64_t outputs, int64_t pieces) {
  const int64_t blocks = (outputs + kOutputs - 1) / kOutputs;
  const Cut cut{blocks, std::clamp<int64_t>(pieces, 1, blocks)};
  std::vector<Slice> slices;
  for (int64_t i = 0; i < cut.pieces; ++i) {
    const int64_t first = kOutputs * cut.begin(i);
    slices.push_back({first, std::min(outputs, kOutputs * cut.begin(i + 1)) - first,
                      first > 0 ? size_of(*with_outputs(w, first)) : 0});
  }
  return slices;
}

/// Copies the columns of a matrix with `from_step` columns to one with `to_step`.
void copy_columns(int64_t rows, int64_t columns, const float* from, int64_t from_step, float* to, int64_t to_step) {
  for (int64_t row = 0; row < rows; ++row)
    std::memcpy(to + row * to_step, from + row * from_step, size_t(columns) * sizeof(float));
}

/// y = x w^T + bias, in pieces of the outputs, whose results are copied to y; of the rows, if there are few outputs.
class Product {
 public:
  /// Weights of format `w`, or of any. Returns false, with the reason in `why`, if the library has only a slow kernel.
  bool prepare(Context& context, const Shape& x, int64_t outputs, bool bias, const dnnl::primitive_attr& attributes,
               const Desc& w, ScratchLayout& scratch, std::string& why) {
    Library& lib = library(context);
    const int64_t rows = x[0];
    inputs_ = x[1], outputs_ = outputs;
    const auto describe = [&](int64_t of_rows, int64_t of_outputs, const Desc& format) {
      constexpr auto kKind = dnnl::prop_kind::forward_training;  // in both phases, so that nets share weights
      const auto of = [&](const auto&... operands) {
        return describe_forward<Forward>(lib.engine, attributes, kKind, plain_desc({of_rows, inputs_}), format,
                                         operands..., plain_desc({of_rows, of_outputs}));
      };
      return bias ? of(plain_desc({of_outputs})) : of();
    };
    const Forward::primitive_desc all = describe(rows, outputs, w);
    if (is_reference(impl_of(all))) return why = "only " + impl_of(all), false;
    w_ = all.weights_desc();
    for (Piece& piece : parts_of(rows, most_pieces(context, rows, inputs_, outputs))) {
      const bool whole = piece.rows == rows && piece.slice.outputs == outputs;
      const Desc format = piece.slice.outputs == outputs ? w_ : *with_outputs(w_, piece.slice.outputs);
      const Forward::primitive_desc pd = whole ? all : describe(piece.rows, piece.slice.outputs, format);
      if (is_reference(impl_of(pd))) return why = "only " + impl_of(pd), false;
      const Desc pad = pd.scratchpad_desc();
      std::vector<std::pair<int, Desc>> arguments = {{DNNL_ARG_SRC, pd.src_desc()},
                                                     {DNNL_ARG_WEIGHTS, format},
                                                     {DNNL_ARG_DST, pd.dst_desc()},
                                                     {DNNL_ARG_SCRATCHPAD, pad}};
      if (bias) arguments.push_back({DNNL_ARG_BIAS, plain_desc({piece.slice.outputs})});
      piece.primitive = Primitive(lib, Forward(pd), arguments);
      piece.pad = scratch.add(size_of(pad));
      if (copies(piece)) piece.y = scratch.add(piece.rows * piece.slice.outputs * int64_t(sizeof(float)));
      pieces_.push_back(std::move(piece));
    }
    name_ = "onednn " + impl_of(all);
    if (pieces_.size() > 1) name_ += " in " + std::to_string(pieces_.size()) + " pieces";
    return true;
  }

  const std::string& name() const { return name_; }
  /// The format of the weights.
  const Desc& w() const { return w_; }

  void run(Context& context, const float* x, const void* w, const float* bias, float* y, void* scratch) {
    in_pieces(context, int64_t(pieces_.size()), [&](int64_t i, int) {
      Piece& piece = pieces_[size_t(i)];
      const Slice& slice = piece.slice;
      const float* from = x + piece.row * inputs_;
      float* to = y + piece.row * outputs_ + slice.first;
      float* own = copies(piece) ? static_cast<float*>(scratch_part(scratch, piece.y)) : to;
      const void* weights = scratch_part(const_cast<void*>(w), slice.w);
      void* pad = scratch_part(scratch, piece.pad);
      if (bias)
        piece.primitive.run({from, weights, own, pad, bias + slice.first});
      else
        piece.primitive.run({from, weights, own, pad});
      if (own != to) copy_columns(piece.rows, slice.outputs, own, slice.outputs, to, outputs_);
    });
  }

 private:
  struct Piece {
    int64_t row, rows;
    Slice slice;
    Primitive primitive = {};
    int64_t pad = 0, y = 0;  ///< offsets in scratch
  };

  std::vector<Piece> parts_of(int64_t rows, int64_t most) const {
    std::vector<Piece> parts;
    if (outputs_ > kOutputs && has_slices(w_, outputs_)) {
      for (const Slice& slice : slices_of(w_, outputs_, most)) parts.push_back({0, rows, slice});
      return parts;
    }
    const Cut cut{rows, std::clamp<int64_t>(most, 1, std::max<int64_t>(1, rows / kMinRows))};
    for (int64_t i = 0; i < cut.pieces; ++i) parts.push_back({cut.begin(i), cut.size(i), {0, outputs_, 0}});
    return parts;
  }

  /// Whether the piece's results are not contiguous in y.
  bool copies(const Piece& piece) const { return piece.slice.outputs < outputs_ && piece.rows > 1; }

  int64_t inputs_ = 0, outputs_ = 0;
  Desc w_;
  std::vector<Piece> pieces_;
  std::string name_;
};

/// A backward direction in pieces of the outputs, with the weights or their gradients in the caller's format.
class BackwardPieces {
 public:
  struct Piece {
    Slice slice;
    Primitive primitive;
    int64_t dy, pad;  ///< offsets in scratch
  };

  explicit operator bool() const { return !pieces_.empty(); }
  int64_t count() const { return int64_t(pieces_.size()); }

  /// In at most `most` pieces. make(number of outputs, format of their weights, scratchpad) returns a primitive.
  /// Returns false if it returns an empty one.
  template <typename Make>
  bool prepare(const InnerProductRequest& r, const Desc& w, int64_t most, ScratchLayout& scratch, const Make& make) {
    rows_ = r.rows, outputs_ = r.outputs;
    std::vector<Piece> pieces;
    for (const Slice& slice : slices_of(w, r.outputs, most)) {
      Desc pad;
      Primitive primitive = make(slice.outputs, *with_outputs(w, slice.outputs), pad);
      if (!primitive) return false;
      const int64_t dy = slice.outputs < r.outputs ? r.rows * slice.outputs * int64_t(sizeof(float)) : 0;
      pieces.push_back({slice, std::move(primitive), scratch.add(dy), scratch.add(size_of(pad))});
    }
    pieces_ = std::move(pieces);
    return true;
  }

  /// Calls run(piece, index, the piece's columns of dy) for each, each in one thread.
  template <typename Run>
  void run(Context& context, const float* dy, void* scratch, const Run& run) {
    in_pieces(context, count(), [&](int64_t i, int) {
      Piece& piece = pieces_[size_t(i)];
      if (count() == 1) return run(piece, i, dy);
      float* own = static_cast<float*>(scratch_part(scratch, piece.dy));
      copy_columns(rows_, piece.slice.outputs, dy + piece.slice.first, outputs_, own, piece.slice.outputs);
      run(piece, i, own);
    });
  }

 private:
  int64_t rows_ = 0, outputs_ = 0;
  std::vector<Piece> pieces_;
};

class OneDnn final : public InnerProduct {
 public:
  explicit OneDnn(const InnerProductRequest& request)
      : r_(request), w_plain_({r_.outputs, r_.inputs}, kF32, r_.transpose ? Tag::io : Tag::oi) {}

  /// Returns false with the reason in `why` if a direction has only a slow kernel.
  bool prepare(Context& context, std::string& why) {
    Library& lib = library(context);
    dnnl::primitive_attr attributes = user_scratchpad();
    attributes.set_post_ops(describe(needs_finite(r_.post) ? without_activation(r_.post) : r_.post));
    if (!forward_.prepare(context, {r_.rows, r_.inputs}, r_.outputs, r_.bias, attributes,
                          any_desc({r_.outputs, r_.inputs}), forward_scratch_, why))
      return false;
    stored_ = r_.w_format ? stored_desc(*r_.w_format, w_plain_) : forward_.w();
    forward_w_ = Staged(lib, stored_, forward_.w(), Staged::Way::kIn, forward_scratch_, context.pieces);
    if (r_.backward_data && !prepare_data(context, why)) return false;
    if (r_.backward_weights) prepare_weights(context);
    return true;
  }

  std::string name() const override { return forward_.name(); }
  WeightFormat weight_format() const override { return onednn::weight_format(r_.weight(), w_plain_, stored_); }
  int64_t forward_scratch() const override { return forward_scratch_.bytes(); }
  int64_t backward_scratch() const override { return std::max(data_scratch_.bytes(), weights_scratch_.bytes()); }

  void forward(Context& context, const void* x, const void* w, const void* bias, void* y, void* scratch) override {
    forward_.run(context, floats(x), forward_w_.load(context, w, scratch), floats(bias), floats(y), scratch);
    if (needs_finite(r_.post)) activate(context, r_.post.activation, r_.dtype, y, r_.rows * r_.outputs);
  }

  int64_t turned_bytes() const override { return r_.turns && turn_ ? size_of(data_.w()) : 0; }
  const float* turn(Context& context, const float* w, void* turned, void* scratch) override {
    return r_.turns ? turn_to(context, w, turned, scratch) : w;
  }

  void backward_data(Context& context, const void* dy, const float* w, void* dx, void* scratch) override {
    if (data_pieces_) return sum_outputs(context, floats(dy), w, floats(dx), scratch);
    if (!r_.turns) w = turn_to(context, w, scratch_part(scratch, turned_), scratch);
    data_.run(context, floats(dy), w, nullptr, floats(dx), scratch);
  }

  void backward_weights(Context& context, const void* x, const void* dy, const WeightGradients& d,
                        void* scratch) override {
    d.require_planned(r_.adds, r_.bias);
    const bool divided = d.w && weights_pieces_;
    if (d.bias && (!divided || d.add_bias)) sum_rows(context, floats(dy), r_.rows, r_.outputs, d.bias, d.add_bias);
    if (!d.w) return;
    float* dw = d.add_w ? static_cast<float*>(scratch_part(scratch, own_dw_)) : d.w;  // oneDNN cannot accumulate
    if (divided) {
      float* bias = static_cast<float*>(scratch_part(scratch, own_dbias_));
      multiply_pieces(context, floats(x), floats(dy), dw, d.bias && !d.add_bias ? d.bias : bias, scratch);
    } else {
      gemm_cpu(context, GemmLibrary::kOneDnn, {r_.inputs, r_.outputs, r_.rows, true}, floats(x), floats(dy),
               floats(dw_.target(dw, scratch)), 0);
      dw_.store(context, dw, scratch);
    }
    if (d.add_w) add_to(context, d.w, dw, size_of(stored_) / int64_t(sizeof(float)));
  }

 private:
  const float* turn_to(Context& context, const float* w, void* turned, void* scratch) {
    if (!turn_) return w;
    turn_.run(context, w, turned, scratch);
    return static_cast<const float*>(turned);
  }

  int64_t most_pieces_of(const Context& context) const { return most_pieces(context, r_.rows, r_.inputs, r_.outputs); }

  /// The forward hint that backward descriptors require, for some outputs.
  Forward::primitive_desc hint(Library& lib, int64_t outputs) const {
    return describe_forward<Forward>(lib.engine, dnnl::primitive_attr(), dnnl::prop_kind::forward_training,
                                     plain_desc({r_.rows, r_.inputs}), any_desc({outputs, r_.inputs}),
                                     plain_desc({r_.rows, outputs}));
  }

  /// A primitive with x or dx, dy and w or dw; empty if the library has only a slow kernel.
  template <typename Op, typename... Operands>
  Primitive backward_primitive(Library& lib, int64_t outputs, std::vector<std::pair<int, Desc>> arguments, Desc& pad,
                               const Operands&... operands) const {
    std::string why;
    return attempt(why, [&]() -> Primitive {
      const auto pd = describe_backward<Op>(lib.engine, user_scratchpad(), hint(lib, outputs), operands...);
      if (is_reference(impl_of(pd))) return {};
      pad = pd.scratchpad_desc();
      arguments.push_back({DNNL_ARG_SCRATCHPAD, pad});
      return Primitive(lib, Op(pd), arguments);
    });
  }

  bool prepare_data_pieces(Context& context) {
    const int64_t suitable = 2 * r_.outputs / (3 * r_.rows);
    if (r_.turns || suitable < 2 || !has_slices(stored_, r_.outputs)) return false;
    Library& lib = library(context);
    const Desc x = plain_desc({r_.rows, r_.inputs});
    const int64_t most = std::min(most_pieces_of(context), suitable / 2 * 2);
    if (!data_pieces_.prepare(r_, stored_, most, data_scratch_, [&](int64_t outputs, const Desc& w, Desc& pad) {
          const Desc dy = plain_desc({r_.rows, outputs});
          return backward_primitive<BackwardData>(
              lib, outputs, {{DNNL_ARG_DIFF_SRC, x}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_WEIGHTS, w}}, pad, x, w, dy);
        }))
      return false;
    dx_ = data_scratch_.add((data_pieces_.count() - 1) * r_.rows * r_.inputs * int64_t(sizeof(float)));
    return true;
  }

  void sum_outputs(Context& context, const float* dy, const float* w, float* dx, void* scratch) {
    const int64_t n = r_.rows * r_.inputs;
    float* sums = static_cast<float*>(scratch_part(scratch, dx_));
    data_pieces_.run(context, dy, scratch, [&](BackwardPieces::Piece& piece, int64_t i, const float* own) {
      piece.primitive.run({i == 0 ? dx : sums + (i - 1) * n, own, scratch_part(const_cast<float*>(w), piece.slice.w),
                           scratch_part(scratch, piece.pad)});
    });
    add_to(context, dx, sums, n, data_pieces_.count() - 1);
  }

  void multiply_pieces(Context& context, const float* x, const float* dy, float* dw, float* dbias, void* scratch) {
    weights_pieces_.run(context, dy, scratch, [&](BackwardPieces::Piece& piece, int64_t, const float* own) {
      void *to = scratch_part(dw, piece.slice.w), *pad = scratch_part(scratch, piece.pad);
      if (r_.bias)
        piece.primitive.run({x, own, to, dbias + piece.slice.first, pad});
      else
        piece.primitive.run({x, own, to, pad});
    });
  }

  bool prepare_data(Context& context, std::string& why) {
    if (prepare_data_pieces(context)) return true;
    if (!data_.prepare(context, {r_.rows, r_.outputs}, r_.inputs, false, user_scratchpad(),
                       any_desc({r_.inputs, r_.outputs}), data_scratch_, why))
      return false;
    const Desc turned = data_.w().permute_axes({1, 0});
    if (turned == stored_) return true;
    if (!r_.turns) turned_ = data_scratch_.add(size_of(turned));
    turn_ = Reorder(library(context), stored_, turned, data_scratch_, context.pieces);
    return true;
  }

  bool prepare_weights_pieces(Context& context) {
    if (r_.rows >= kManyRows || !has_slices(stored_, r_.outputs)) return false;
    Library& lib = library(context);
    const Desc x = plain_desc({r_.rows, r_.inputs});
    const auto make = [&](int64_t outputs, const Desc& w, Desc& pad) {
      const Desc dy = plain_desc({r_.rows, outputs}), bias = plain_desc({outputs});
      std::vector<std::pair<int, Desc>> arguments = {
          {DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_WEIGHTS, w}};
      if (!r_.bias) return backward_primitive<BackwardWeights>(lib, outputs, arguments, pad, x, w, dy);
      arguments.push_back({DNNL_ARG_DIFF_BIAS, bias});
      return backward_primitive<BackwardWeights>(lib, outputs, arguments, pad, x, w, bias, dy);
    };
    return weights_pieces_.prepare(r_, stored_, most_pieces_of(context), weights_scratch_, make);
  }

  void prepare_weights(Context& context) {
    if (r_.adds) own_dw_ = weights_scratch_.add(size_of(stored_));
    own_dbias_ = weights_scratch_.add(r_.outputs * int64_t(sizeof(float)));
    if (prepare_weights_pieces(context)) return;
    dw_ = Staged(library(context), stored_, Desc({r_.outputs, r_.inputs}, kF32, Tag::io), Staged::Way::kOut,
                 weights_scratch_, context.pieces);
  }

  InnerProductRequest r_;
  Desc w_plain_, stored_;
  Product forward_, data_;
  BackwardPieces data_pieces_, weights_pieces_;
  Staged forward_w_, dw_;
  Reorder turn_;
  ScratchLayout forward_scratch_, data_scratch_, weights_scratch_;
  int64_t turned_ = 0, dx_ = 0, own_dw_ = 0, own_dbias_ = 0;  ///< in scratch
};

}  // namespace

std::unique_ptr<InnerProduct> make_inner_product_onednn(const InnerProductRequest& request, Context& context,
                                                        std::string& why) {
  if (!takes(request.dtype, why)) return nullptr;
  if (request.rows == 0 || request.inputs == 0 || request.outputs == 0) return why = "no elements", nullptr;
  return attempt(why, [&]() -> std::unique_ptr<InnerProduct> {
    auto product = std::make_unique<OneDnn>(request);
    if (product->prepare(context, why)) return product;
    return nullptr;
  });
}

}  // namespace cortado::kernels

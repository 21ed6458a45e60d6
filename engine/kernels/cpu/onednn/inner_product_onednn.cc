// Inner product by oneDNN. Weights are stored in forward's blocks; the backward kernels accept the same format but
// transpose it in each call. If many calls share a weight, backward_data is therefore a forward product with the
// transposed weight (turn()). Gradients summed over many rows use the library's GEMM, which is faster. A ReLU is always
// applied separately (needs_finite()). Small products without gradients are divided into pieces of rows for our own
// threads: the library's threads wait for each other, on a busy machine longer than a small product takes.

#include <optional>

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

/// From this number of rows on the GEMM was never slower, and up to 1.2 times as fast.
constexpr int64_t kManyRows = 640;

/// Multiplications that take about as long as waking a thread; the fewest rows of a piece, and the most pieces.
constexpr int64_t kPieceProducts = 1 << 18, kMinRows = 16, kMaxPieces = 16;

int64_t size_of(const Desc& desc) { return int64_t(desc.get_size()); }

/// The number of equal pieces; 0: the library's threads compute the product.
int64_t pieces_of(const InnerProductRequest& r) {
  if (r.backward_data || r.backward_weights || r.inputs * r.outputs > kLargeWeights) return 0;
  const double products = double(r.rows) * double(r.inputs) * double(r.outputs);
  int64_t pieces = 1;
  while (products > 2.0 * kPieceProducts * double(pieces) && pieces < kMaxPieces && r.rows % (2 * pieces) == 0 &&
         r.rows >= 2 * pieces * kMinRows)
    pieces *= 2;
  return products > 4.0 * kPieceProducts * double(pieces) ? 0 : pieces;
}

class OneDnn final : public InnerProduct {
 public:
  explicit OneDnn(const InnerProductRequest& request)
      : r_(request),
        x_(plain_desc({r_.rows, r_.inputs})),
        y_(plain_desc({r_.rows, r_.outputs})),
        pieces_(pieces_of(request)),
        bias_(plain_desc({r_.outputs})),
        w_any_(any_desc({r_.outputs, r_.inputs})),
        w_plain_({r_.outputs, r_.inputs}, kF32, r_.transpose ? Tag::io : Tag::oi) {}

  /// Returns false with the reason in `why` if a direction has only a slow kernel.
  bool prepare(Context& context, std::string& why) {
    Library& lib = library(context);
    return prepare_forward(lib, why) &&
           (!r_.backward_data || (r_.turns ? prepare_turned(lib, why) : prepare_data(lib, why))) &&
           (!r_.backward_weights || prepare_weights(lib, why));
  }

  std::string name() const override { return name_; }
  WeightFormat weight_format() const override { return onednn::weight_format(r_.weight(), w_plain_, stored_); }
  int64_t forward_scratch() const override { return forward_.scratch.bytes(); }
  int64_t backward_scratch() const override { return std::max(data_.scratch.bytes(), weights_.scratch.bytes()); }

  void forward(Context& context, const void* x, const void* w, const void* bias, void* y, void* scratch) override {
    Library& lib = library(context);
    const void *w_in = forward_.w.load(lib, w, scratch), *pad = scratch_part(scratch, forward_.pad);
    if (pieces_ > 0)
      forward_pieces(context, x, w_in, bias, y, scratch);
    else if (bias)
      forward_.primitive.run(lib, {x, w_in, y, pad, bias});
    else
      forward_.primitive.run(lib, {x, w_in, y, pad});
    if (needs_finite(r_.post)) activate(context, r_.post.activation, r_.dtype, y, r_.rows * r_.outputs);
  }

  int64_t turned_bytes() const override { return turned_bytes_; }
  const float* turn(Context& context, const float* w, void* turned, void* scratch) override {
    if (!turn_) return w;
    turn_.run(library(context), w, turned, scratch);
    return static_cast<const float*>(turned);
  }

  void backward_data(Context& context, const void* dy, const float* w, void* dx, void* scratch) override {
    Library& lib = library(context);
    data_.primitive.run(lib, {dy, data_.w.load(lib, w, scratch), dx, scratch_part(scratch, data_.pad)});
  }

  void backward_weights(Context& context, const void* x, const void* dy, const WeightGradients& d,
                        void* scratch) override {
    d.require_planned(r_.adds, r_.bias);
    Library& lib = library(context);
    float* sum = static_cast<float*>(scratch_part(scratch, own_dw_));
    float* bias_sum = static_cast<float*>(scratch_part(scratch, own_dbias_));
    float* dw = d.w && !d.add_w ? d.w : sum;  // oneDNN cannot accumulate
    float* dbias = d.bias && !d.add_bias ? d.bias : bias_sum;
    void *dw_in = weights_.w.target(dw, scratch), *pad = scratch_part(scratch, weights_.pad);
    if (has_many_rows()) {
      if (d.w)
        gemm_cpu(context, GemmLibrary::kOneDnn, {r_.inputs, r_.outputs, r_.rows, true}, floats(x), floats(dy),
                 floats(dw_in), 0);
      if (d.bias) sum_rows(context, floats(dy), r_.rows, r_.outputs, dbias, false);
    } else if (r_.bias) {
      weights_.primitive.run(lib, {x, dy, dw_in, pad, dbias});
    } else {
      weights_.primitive.run(lib, {x, dy, dw_in, pad});
    }
    if (d.w) weights_.w.store(lib, dw, scratch);
    if (d.w && d.add_w) add_to(context, d.w, sum, size_of(stored_) / int64_t(sizeof(float)));
    if (d.bias && d.add_bias) add_to(context, d.bias, bias_sum, r_.outputs);
  }

 private:
  struct Direction {
    Primitive primitive;
    Staged w;
    ScratchLayout scratch;
    int64_t pad = 0;  ///< offset of the primitive's scratchpad
  };

  /// Some rows of forward, with a stream of its own.
  struct Piece {
    Library library;
    Direction direction;
  };

  void forward_pieces(Context& context, const void* x, const void* w, const void* bias, void* y, void* scratch) {
    const int64_t rows = r_.rows / pieces_, size = cortado::size_of(r_.dtype);
    parallel_ranges(context, pieces_, 1, [&](int64_t begin, int64_t end) {
      const LibrariesAlone alone;
      for (int64_t i = begin; i < end; ++i) {
        Piece& piece = all_[size_t(i)];
        const void *from = scratch_part(const_cast<void*>(x), i * rows * r_.inputs * size),
                   *to = scratch_part(y, i * rows * r_.outputs * size),
                   *pad = scratch_part(scratch, piece.direction.pad);
        if (bias)
          piece.direction.primitive.run(piece.library, {from, w, to, pad, bias});
        else
          piece.direction.primitive.run(piece.library, {from, w, to, pad});
      }
    });
  }

  bool prepare_pieces(Library& lib, std::string& why) {
    const LibrariesAlone alone;
    const Desc x = plain_desc({r_.rows / pieces_, r_.inputs}), y = plain_desc({r_.rows / pieces_, r_.outputs});
    const Forward::primitive_desc pd = forward_pd(lib, x, y);
    const Desc w = pd.weights_desc();
    stored_ = r_.w_format ? stored_desc(*r_.w_format, w_plain_) : w;
    forward_.w = Staged(lib, stored_, w, Staged::Way::kIn, forward_.scratch);
    for (int64_t i = 0; i < pieces_; ++i) {
      Piece& piece = all_.emplace_back(Piece{{lib.engine, dnnl::stream(lib.engine), 0}, {}});
      piece.direction.scratch = forward_.scratch;
      if (!finish(lib, piece.direction, pd, Forward(pd), {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}},
                  DNNL_ARG_BIAS, why))
        return false;
      forward_.scratch = piece.direction.scratch;
    }
    return true;
  }

  Forward::primitive_desc forward_pd(Library& lib, const Desc& x, const Desc& y) const {
    constexpr auto kKind = dnnl::prop_kind::forward_training;  // in both phases, so that nets which share weights agree
    dnnl::primitive_attr attributes = user_scratchpad();
    attributes.set_post_ops(describe(needs_finite(r_.post) ? without_activation(r_.post) : r_.post));
    return r_.bias ? describe_forward<Forward>(lib.engine, attributes, kKind, x, w_any_, bias_, y)
                   : describe_forward<Forward>(lib.engine, attributes, kKind, x, w_any_, y);
  }

  bool prepare_forward(Library& lib, std::string& why) {
    if (pieces_ > 0) return prepare_pieces(lib, why);
    forward_pd_ = forward_pd(lib, x_, y_);
    const Desc w = forward_pd_.weights_desc();
    stored_ = r_.w_format ? stored_desc(*r_.w_format, w_plain_) : w;
    forward_.w = Staged(lib, stored_, w, Staged::Way::kIn, forward_.scratch);
    return finish(lib, forward_, forward_pd_, Forward(forward_pd_),
                  {{DNNL_ARG_SRC, x_}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y_}}, DNNL_ARG_BIAS, why);
  }

  bool prepare_data(Library& lib, std::string& why) {
    const auto pd = describe_backward<BackwardData>(lib.engine, user_scratchpad(), forward_pd_, x_, w_any_, y_);
    const Desc w = pd.weights_desc();
    data_.w = Staged(lib, stored_, w, Staged::Way::kIn, data_.scratch);
    return finish(lib, data_, pd, BackwardData(pd),
                  {{DNNL_ARG_DIFF_DST, y_}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_SRC, x_}}, 0, why);
  }

  /// dx is the forward product of dy and w^T.
  bool prepare_turned(Library& lib, std::string& why) {
    const auto pd = describe_forward<Forward>(lib.engine, user_scratchpad(), dnnl::prop_kind::forward_inference, y_,
                                              any_desc({r_.inputs, r_.outputs}), x_);
    const Desc w = pd.weights_desc();
    if (const Desc turned = w.permute_axes({1, 0}); turned != stored_) {
      turned_bytes_ = size_of(w);
      turn_ = Reorder(lib, stored_, turned, data_.scratch);
    }
    return finish(lib, data_, pd, Forward(pd), {{DNNL_ARG_SRC, y_}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, x_}}, 0, why);
  }

  bool prepare_weights(Library& lib, std::string& why) {
    if (has_many_rows()) return stage_gradients(lib, Desc({r_.outputs, r_.inputs}, kF32, Tag::io)), true;
    const auto pd =
        r_.bias ? describe_backward<BackwardWeights>(lib.engine, user_scratchpad(), forward_pd_, x_, w_any_, bias_, y_)
                : describe_backward<BackwardWeights>(lib.engine, user_scratchpad(), forward_pd_, x_, w_any_, y_);
    const Desc w = pd.diff_weights_desc();
    stage_gradients(lib, w);
    return finish(lib, weights_, pd, BackwardWeights(pd),
                  {{DNNL_ARG_SRC, x_}, {DNNL_ARG_DIFF_DST, y_}, {DNNL_ARG_DIFF_WEIGHTS, w}}, DNNL_ARG_DIFF_BIAS, why);
  }

  bool has_many_rows() const { return r_.rows >= kManyRows; }

  /// `inside`: the format in which the gradient of w is computed.
  void stage_gradients(Library& lib, const Desc& inside) {
    weights_.w = Staged(lib, stored_, inside, Staged::Way::kOut, weights_.scratch);
    if (!r_.adds) return;
    own_dw_ = weights_.scratch.add(size_of(stored_));
    own_dbias_ = weights_.scratch.add(r_.outputs * int64_t(sizeof(float)));
  }

  /// Creates the primitive with its operands, its scratchpad and an optional bias.
  template <typename PrimitiveDesc>
  bool finish(Library& lib, Direction& d, const PrimitiveDesc& pd, dnnl::primitive primitive,
              std::vector<std::pair<int, Desc>> arguments, int bias_argument, std::string& why) {
    if (is_reference(impl_of(pd))) return why = "only " + impl_of(pd), false;
    d.pad = d.scratch.add(size_of(pd.scratchpad_desc()));
    arguments.push_back({DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc()});
    if (r_.bias && bias_argument) arguments.push_back({bias_argument, bias_});
    d.primitive = Primitive(lib, std::move(primitive), arguments);
    if (name_.empty()) name_ = "onednn " + impl_of(pd);
    return true;
  }

  InnerProductRequest r_;
  Desc x_, y_;
  int64_t pieces_;
  std::vector<Piece> all_;  ///< with pieces
  Desc bias_, w_any_, w_plain_, stored_;
  Forward::primitive_desc forward_pd_;
  Direction forward_, data_, weights_;
  Reorder turn_;
  int64_t turned_bytes_ = 0;
  int64_t own_dw_ = 0, own_dbias_ = 0;
  std::string name_;
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

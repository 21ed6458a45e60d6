// Convolution by oneDNN's JIT kernels. Fast kernels exist only for some layouts of x, y and w, which differ between
// directions. There is a candidate for each pair of layouts that may be worth its reorders, including the operands'
// own, and one for Winograd, which oneDNN 2.6 never selects by itself. A batch is divided into pieces of its images;
// few images into pieces of their outputs, either more of them, for more threads, or large ones ("onednn-large").
// Weights are stored in forward's format, which their gradient shares; backward_data needs transposed blocks. For
// bfloat16 values trained weights stay 32-bit floats, in blocks if the library has no format for them, and are rounded
// on every call; frozen weights are rounded once.

#include <algorithm>
#include <cfloat>
#include <cstring>
#include <optional>

#include "core/threads/threads.h"
#include "kernels/conv.h"
#include "kernels/cpu/floats.h"
#include "kernels/cpu/largest_magnitude.h"
#include "kernels/cpu/onednn/faults.h"
#include "kernels/cpu/onednn/onednn.h"
#include "kernels/cpu/onednn/rounded_filters.h"

namespace cortado::kernels {
namespace {

using namespace onednn;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;
constexpr auto kF32 = dnnl::memory::data_type::f32;

/// Rates of one core: peak flop/s in each direction, and bytes/s of reorders.
struct Rates {
  double flops[3], bytes;
};
constexpr Rates kAvx2{{6e10, 6.5e10, 4.4e10}, 1e10}, kAvx512{{1.8e11, 1.8e11, 1.8e11}, 6e9};
/// For bfloat16 values on CPUs with AVX512_BF16; measured.
constexpr Rates kHalves{{3.5e11, 3.5e11, 3.3e11}, 6e9};
/// For bfloat16 values on AMX, which multiplies eight times as many; not measured.
constexpr Rates kHalvesByTiles{{1.4e12, 1.4e12, 1.4e12}, 6e9};

const Rates& rates_of(DType dtype, CpuLevel level) {
  if (level != CpuLevel::kAvx512) return kAvx2;
  if (dtype == DType::kF32) return kAvx512;
  return includes(dnnl::get_effective_cpu_isa(), dnnl::cpu_isa::avx512_core_amx) ? kHalvesByTiles : kHalves;
}

/// The layouts of x and y in which the primitive runs.
enum class Variant { kOwn, kBlocked, kLast, kWinograd };

struct Storages {
  Desc x, y;
};

struct Problem {
  Problem(const ConvShape& s, Variant variant)
      : shape(s),
        variant(variant),
        algorithm(variant == Variant::kWinograd ? dnnl::algorithm::convolution_winograd
                                                : dnnl::algorithm::convolution_direct),
        x{s.n, s.c, s.h.in, s.w.in},
        y{s.n, s.k, s.h.out(), s.w.out()},
        strides{s.h.stride, s.w.stride},
        dilates{s.h.dilation - 1, s.w.dilation - 1},
        pad{s.h.pad, s.w.pad},
        type(data_type(s.dtype)),
        bias({s.k}, kF32, Tag::x) {
    const int64_t c = s.c / s.groups, k = s.k / s.groups;
    const Shape w = s.groups == 1 ? Shape{k, c, s.h.kernel, s.w.kernel} : Shape{s.groups, k, c, s.h.kernel, s.w.kernel};
    w_any = any_desc(w, s.dtype);
    dw_any = any_desc(w);
    w_plain = plain_desc(w);
    own = {describe({Shape(std::vector<int64_t>(x)), s.dtype, s.x_layout}),
           describe({Shape(std::vector<int64_t>(y)), s.dtype, s.y_layout})};
    const Tag tag = variant == Variant::kLast ? Tag::nhwc : Tag::nChw16c;
    run = variant == Variant::kOwn ? own : Storages{Desc(x, type, tag), Desc(y, type, tag)};
  }

  bool channels_last() const { return run.x == Desc(x, type, Tag::nhwc); }
  /// Whether weights are multiplied in another type than they are trained in.
  bool rounds_weights() const { return type != kF32; }
  /// The format of trained weights if the primitive's own cannot be used: 32-bit floats, in blocks if the groups allow
  /// it.
  Desc w_trained() const {
    return conv_suits_blocks(shape.c, shape.k, shape.groups) ? blocked16_desc(w_plain) : w_plain;
  }

  ConvShape shape;
  Variant variant;
  dnnl::algorithm algorithm;
  Dims x, y, strides, dilates, pad;
  dnnl::memory::data_type type;  ///< of x and y
  Desc bias, w_any, dw_any, w_plain;
  Storages own, run;  ///< the caller's and the primitive's layouts
};

/// oneDNN's im2col counts as slow: our own is another candidate.
bool is_fast(const std::string& impl) { return !is_reference(impl) && impl.find("gemm:jit") == std::string::npos; }

dnnl::primitive_attr forward_attributes(const ConvRequest& request) {
  dnnl::primitive_attr attributes = user_scratchpad();
  attributes.set_post_ops(describe(request.post));
  return attributes;
}

int64_t size_of(const Desc& desc) { return int64_t(desc.get_size()); }

/// Uses forward_training in both phases, so that nets which share weights agree. Hints for other directions have no
/// bias.
Forward::primitive_desc describe_conv(const Library& lib, const Problem& p, const Storages& s, const Desc& w, bool bias,
                                      const dnnl::primitive_attr& attributes) {
  constexpr auto kKind = dnnl::prop_kind::forward_training;
  const auto of = [&](const auto&... operands) {
    return describe_forward<Forward>(lib.engine, attributes, kKind, p.algorithm, operands..., p.strides, p.dilates,
                                     p.pad, p.pad);
  };
  return bias ? of(s.x, w, p.bias, s.y) : of(s.x, w, s.y);
}

/// The forward hint that backward descriptors require.
Forward::primitive_desc hint(const Library& lib, const Problem& p) {
  const Storages any{any_desc(Shape(std::vector<int64_t>(p.x)), p.shape.dtype),
                     any_desc(Shape(std::vector<int64_t>(p.y)), p.shape.dtype)};
  return describe_conv(lib, p, any, p.w_any, false, {});
}

/// A piece of the work: some images, and in forward perhaps only some outputs of them.
struct Part {
  int64_t image, images, output, outputs;
};

/// Fewer products do not justify a piece.
constexpr double kProductsOfPiece = 1 << 19;

int64_t most_pieces(const ConvShape& s, int64_t pieces) {
  return even_pieces(std::min(double(pieces), double(s.macs()) / kProductsOfPiece));
}

std::vector<Part> parts_of_images(const ConvShape& s, int64_t pieces) {
  const Cut images{s.n, s.n < most_pieces(s, pieces) ? even_pieces(double(s.n)) : most_pieces(s, pieces)};
  std::vector<Part> parts;
  for (int64_t i = 0; i < images.pieces; ++i) parts.push_back({images.begin(i), images.size(i), 0, s.k});
  return parts;
}

/// For few images: parts of their outputs, too. Kernels are fastest with 64 outputs or more, but all must read x.
std::vector<Part> parts_of_outputs(const ConvShape& s, int64_t pieces, bool large) {
  const int64_t unit = s.k >= 256 ? 64 : s.k >= 128 ? 32 : 16, units = (s.k + unit - 1) / unit;
  const int64_t suitable = std::clamp<int64_t>(large ? 1 : units, std::min(pieces / 4, units), std::min(pieces, units));
  const Cut cut{units, std::min(suitable, std::max<int64_t>(1, most_pieces(s, pieces) / s.n))};
  std::vector<Part> parts;
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t i = 0; i < cut.pieces; ++i) {
      const int64_t output = unit * cut.begin(i);
      parts.push_back({image, 1, output, std::min(s.k, unit * cut.begin(i + 1)) - output});
    }
  return parts;
}

/// The arguments of a direction's primitive, and their ways.
struct Roles {
  ConvDirection direction;
  int x, y, w, bias;  ///< bias: 0 for none
  Staged::Way x_way, y_way, w_way;
};
constexpr Roles kForward{ConvDirection::kForward, DNNL_ARG_SRC,     DNNL_ARG_DST,      DNNL_ARG_WEIGHTS,
                         DNNL_ARG_BIAS,           Staged::Way::kIn, Staged::Way::kOut, Staged::Way::kIn};
constexpr Roles kBackwardData{ConvDirection::kBackwardData,
                              DNNL_ARG_DIFF_SRC,
                              DNNL_ARG_DIFF_DST,
                              DNNL_ARG_WEIGHTS,
                              0,
                              Staged::Way::kOut,
                              Staged::Way::kIn,
                              Staged::Way::kIn};
constexpr Roles kBackwardWeights{ConvDirection::kBackwardWeights,
                                 DNNL_ARG_SRC,
                                 DNNL_ARG_DIFF_DST,
                                 DNNL_ARG_DIFF_WEIGHTS,
                                 DNNL_ARG_DIFF_BIAS,
                                 Staged::Way::kIn,
                                 Staged::Way::kIn,
                                 Staged::Way::kOut};

Desc weights_of(const Forward::primitive_desc& pd) { return pd.weights_desc(); }
Desc weights_of(const BackwardData::primitive_desc& pd) { return pd.weights_desc(); }
Desc weights_of(const BackwardWeights::primitive_desc& pd) { return pd.diff_weights_desc(); }

class OneDnn : public ConvKernel {
 public:
  /// `large`: in fewer pieces than usual.
  OneDnn(const ConvRequest& request, const Problem& problem, bool large, const Context& context)
      : request_(request), problem_(problem), large_(large), most_pieces_(context.pieces) {}

  std::string name() const override { return name_; }
  WeightFormat weight_format() const override {
    return kernels::onednn::weight_format(problem_.shape.weight(), problem_.w_plain, stored_);
  }
  WeightFormat bias_format() const override { return WeightFormat(Shape{problem_.shape.k}); }
  int64_t scratch() const override { return scratch_.bytes(); }

 protected:
  /// One thread at a time runs a piece. Offsets are in bytes, in the caller's x and y, in w, the bias and the scratch.
  struct Piece {
    Part part;
    Staged x, y;
    Primitive primitive;
    int64_t x_at, y_at, w_at, bias_at, pad, pad_bytes;
  };

  const Problem& whole() const { return problem_; }
  bool copies() const { return problem_.run.x != problem_.own.x || problem_.run.y != problem_.own.y; }
  Problem problem_of(const Part& part) const {
    ConvShape shape = problem_.shape;
    shape.n = part.images, shape.k = part.outputs;
    return Problem(shape, problem_.variant);
  }

  /// The format of some outputs of weights; nullopt if they are not contiguous.
  std::optional<Desc> slice_of(const Desc& w, int64_t outputs) const {
    return outputs == problem_.shape.k ? w : with_outputs(w, outputs);
  }
  Desc w_of(const Part& part) const { return *slice_of(w_run_, part.outputs); }

  /// Creates pieces that are described by describe(problem of a piece, format of w). The caller's format of w is tried
  /// first, then `any`. Returns false, with the reason in `why`, if the library has only slow primitives.
  template <typename Op, typename Describe>
  bool prepare_pieces(Library& lib, const Roles& roles, const std::vector<Part>& parts, const Desc& any,
                      const Describe& describe, std::string& why) {
    using PrimitiveDesc = typename Op::primitive_desc;
    pieces_.clear();  // of an attempt with other parts
    x_ = w_ = {};
    rounded_.reset();
    scratch_ = {};
    const auto sound = [&](const Part& part, const Desc& w) -> std::optional<PrimitiveDesc> {
      const Problem problem = problem_of(part);
      auto pd = attempt(why, [&]() -> std::optional<PrimitiveDesc> { return describe(problem, w); });
      if (!pd) return {};
      const std::string impl = impl_of(*pd);
      if (is_faulty(problem.shape, roles.direction, impl, problem.channels_last()))
        return why = impl + " is faulty", std::nullopt;
      if (!is_fast(impl)) return why = "only " + impl, std::nullopt;
      return pd;
    };
    std::optional<PrimitiveDesc> first;
    if (request_.w_format)
      if (const auto w = slice_of(stored_desc(*request_.w_format, problem_.w_plain), parts[0].outputs))
        first = sound(parts[0], *w);
    if (!first) first = sound(parts[0], any_of(parts[0], any));
    if (!first) return false;
    const auto w = whole_format(weights_of(*first), parts);
    if (!w) return why = "weights of some outputs are not contiguous", false;
    if (parts[0].outputs < problem_.shape.k)
      x_ = Staged(lib, problem_.own.x, problem_.run.x, roles.x_way, scratch_, int(most_pieces_));
    stage_weights(lib, roles, *w);
    std::vector<std::pair<Part, PrimitiveDesc>> kinds;  // of equal extents
    for (const Part& part : parts) {
      auto kind = std::ranges::find_if(kinds, [&](const auto& known) {
        return known.first.images == part.images && known.first.outputs == part.outputs;
      });
      if (kind == kinds.end()) {
        const auto pd = sound(part, w_of(part));
        if (!pd) return false;
        kind = kinds.insert(kinds.end(), {part, *pd});
      }
      add_piece<Op>(lib, roles, part, kind->second);
    }
    name_ = "onednn " + impl_of(*first) + (copies() ? " with reorders" : "");
    if (pieces_.size() > 1) name_ += " in " + std::to_string(pieces_.size()) + " pieces";
    return true;
  }

  std::vector<std::pair<int, Desc>> arguments_of(const Roles& roles, const Problem& p, const Desc& w,
                                                 const Desc& pad) const {
    std::vector<std::pair<int, Desc>> arguments = {
        {roles.x, p.run.x}, {roles.y, p.run.y}, {roles.w, w}, {DNNL_ARG_SCRATCHPAD, pad}};
    if (request_.bias && roles.bias) arguments.push_back({roles.bias, p.bias});
    return arguments;
  }

  /// Any format of a part's weights.
  Desc any_of(const Part& part, const Desc& any) const {
    if (part.outputs == problem_.shape.k) return any;
    Shape shape = problem_.shape.weight();
    return any_desc(Shape({part.outputs, shape[1], shape[2], shape[3]}), problem_.shape.dtype);
  }

  /// The format of all weights if `w` is that of the first part's; nullopt if the parts would not be contiguous.
  std::optional<Desc> whole_format(const Desc& w, const std::vector<Part>& parts) const {
    if (parts[0].outputs == problem_.shape.k) return w;
    for (const Part& part : parts)
      if (part.output % block_of(w) != 0) return {};
    return with_outputs(w, problem_.shape.k);
  }

  /// Calls run(piece, index) for each, each in one thread.
  template <typename Run>
  void in_all_pieces(Context& context, const Run& run) {
    in_pieces(context, int64_t(pieces_.size()), [&](int64_t i, int) { run(pieces_[size_t(i)], i); });
  }

  /// Runs a piece's primitive.
  void run_primitive(Primitive& primitive, const Piece& piece, const void* x, const void* y, const void* w,
                     const void* bias, void* pad) const {
    if (bias)
      primitive.run({x, y, at(w, piece.w_at), pad, at(bias, piece.bias_at)});
    else
      primitive.run({x, y, at(w, piece.w_at), pad});
  }

  static void* at(const void* whole, int64_t offset) { return scratch_part(const_cast<void*>(whole), offset); }

  /// The weights in the primitives' format.
  const void* load_weights(Context& context, const void* w, void* scratch) {
    if (!rounded_) return w_.load(context, w, scratch);
    rounded_->run(context, w, scratch_part(scratch, rounded_at_));
    return scratch_part(scratch, rounded_at_);
  }

  ConvRequest request_;
  Problem problem_;
  bool large_;
  int64_t most_pieces_;
  Desc stored_;  ///< of w and dw
  Desc w_run_;   ///< in the primitives' format
  std::vector<Piece> pieces_;
  Staged x_;  ///< if all pieces read the same x; else each has its own
  Staged w_;
  std::optional<RoundedFilters> rounded_;  ///< replaces w_ if possible
  ScratchLayout scratch_;
  int64_t rounded_at_ = 0;
  std::string name_;

 private:
  void stage_weights(Library& lib, const Roles& roles, const Desc& w) {
    const bool rounds = problem_.rounds_weights() && !request_.frozen;
    w_run_ = w;
    stored_ = request_.w_format ? stored_desc(*request_.w_format, problem_.w_plain) : rounds ? problem_.w_trained() : w;
    if (roles.w_way == Staged::Way::kIn) rounded_ = RoundedFilters::between(problem_.w_plain, stored_, w);
    if (rounded_)
      rounded_at_ = scratch_.add(size_of(w));
    else
      w_ = Staged(lib, stored_, w, roles.w_way, scratch_, int(most_pieces_));
  }

  template <typename Op, typename PrimitiveDesc>
  void add_piece(Library& lib, const Roles& roles, const Part& part, const PrimitiveDesc& pd) {
    const Problem p = problem_of(part);
    Piece piece{};
    piece.part = part;
    if (!x_.copies()) piece.x = Staged(lib, p.own.x, p.run.x, roles.x_way, scratch_, 1);
    piece.y = Staged(lib, p.own.y, p.run.y, roles.y_way, scratch_, 1);
    piece.pad_bytes = size_of(pd.scratchpad_desc());
    piece.pad = scratch_.add(piece.pad_bytes);
    piece.primitive = Primitive(lib, Op(pd), arguments_of(roles, p, weights_of(pd), pd.scratchpad_desc()));
    const int64_t of_output = p.shape.h.out() * p.shape.w.out() * int64_t(cortado::size_of(p.shape.dtype));
    piece.x_at = part.image * (size_of(x_.copies() ? problem_.run.x : problem_.own.x) / problem_.shape.n);
    piece.y_at = part.image * (size_of(problem_.own.y) / problem_.shape.n) + part.output * of_output;
    if (part.output > 0) piece.w_at = size_of(*with_outputs(w_run_, part.output));
    piece.bias_at = part.output * int64_t(sizeof(float));
    pieces_.push_back(std::move(piece));
  }
};

/// If the activation needs_finite() and sums may overflow, the primitives run without the activation, which is applied
/// separately.
class OneDnnForward final : public OneDnn {
 public:
  using OneDnn::OneDnn;

  bool prepare(Library& lib, std::string& why) {
    if (request_.post.sum && whole().run.y != whole().own.y)
      return why = "adds only to y in the caller's layout", false;
    const auto describe = [&](const Problem& p, const Desc& w) {
      return describe_sound(lib, p, w, forward_attributes(request_));
    };
    const std::vector<Part> images = parts_of_images(whole().shape, most_pieces_);
    const bool few = whole().shape.groups == 1 && whole().shape.y_layout != Layout::kChannelsLast &&
                     int64_t(images.size()) < most_pieces_ / 2;
    const std::vector<Part> outputs = few ? parts_of_outputs(whole().shape, most_pieces_, large_) : images;
    if (large_ && (!few || outputs.size() == parts_of_outputs(whole().shape, most_pieces_, false).size()))
      return why = "has the same pieces", false;
    if (!prepare_pieces<Forward>(lib, kForward, outputs, whole().w_any, describe, why) &&
        (!few || !prepare_pieces<Forward>(lib, kForward, images, whole().w_any, describe, why)))
      return false;
    x_values_ = values_of(whole().own.x), w_values_ = values_of(w_run_), y_values_ = values_of(whole().own.y);
    products_ = double(whole().shape.weight().count() / whole().shape.k);
    return true;
  }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    const void* w = load_weights(context, io.w, scratch);
    const void* bias = request_.bias ? io.bias : nullptr;
    const bool apart = needs_finite(request_.post) && !excludes_nan(context, io.x, w, io.bias, io.y);
    if (apart && apart_.empty()) make_apart(library(context));
    const void* all = x_.load(context, io.x, scratch);
    in_all_pieces(context, [&](Piece& piece, int64_t i) {
      const void* x = piece.x.load(context, at(all, piece.x_at), scratch);
      void* outside = at(io.y, piece.y_at);
      void* y = piece.y.target(outside, scratch);
      Apart* other = apart ? &apart_[size_t(i)] : nullptr;
      run_primitive(other ? other->primitive : piece.primitive, piece, x, y, w, bias,
                    other ? other->pad.data() : scratch_part(scratch, piece.pad));
      piece.y.store(context, outside, scratch);
    });
    if (apart) activate(context, request_.post.activation, whole().shape.dtype, io.y, y_values_);
  }

 private:
  int64_t values_of(const Desc& desc) const { return size_of(desc) / int64_t(cortado::size_of(whole().shape.dtype)); }

  /// An upper bound of the growth of values in the algorithms' transforms.
  static constexpr double kGrowth = 1e4;

  /// Whether all operands are so small that no sum of products can overflow in any order.
  bool excludes_nan(Context& context, const void* x, const void* w, const void* bias, const void* y) {
    const ConvShape& s = whole().shape;
    const auto largest = [&](const void* values, int64_t n) {
      return double(largest_magnitude(context, values, s.dtype, n));
    };
    if (!w_largest_ || !request_.frozen) w_largest_ = largest(w, w_values_);
    double bound = largest(x, x_values_) * *w_largest_ * products_;
    if (request_.bias) bound += double(largest_magnitude(context, bias, DType::kF32, s.k));
    if (request_.post.sum) bound += largest(y, y_values_);
    return bound < FLT_MAX / kGrowth;
  }

  /// Not by a faulty implementation.
  Forward::primitive_desc describe_sound(const Library& lib, const Problem& p, const Desc& w,
                                         const dnnl::primitive_attr& attributes) const {
    auto pd = describe_conv(lib, p, p.run, w, request_.bias, attributes);
    skip_faulty(pd, p.shape, p.channels_last());
    return pd;
  }

  /// A piece without the activation. Rare, so it is created on demand, with memory of its own.
  struct Apart {
    Primitive primitive;
    std::vector<std::byte> pad;
  };

  void make_apart(Library& lib) {
    const OneThread alone;
    dnnl::primitive_attr attributes = user_scratchpad();
    attributes.set_post_ops(describe(without_activation(request_.post)));
    for (const Piece& piece : pieces_) {
      const Problem p = problem_of(piece.part);
      const auto pd = describe_sound(lib, p, w_of(piece.part), attributes);
      const Desc pad = pd.scratchpad_desc();
      apart_.push_back({Primitive(lib, Forward(pd), arguments_of(kForward, p, pd.weights_desc(), pad)),
                        std::vector<std::byte>(size_t(size_of(pad)))});
    }
  }

  int64_t x_values_ = 0, w_values_ = 0, y_values_ = 0;  ///< as stored, including padding
  double products_ = 0;                                 ///< products per value of y
  std::optional<double> w_largest_;
  std::vector<Apart> apart_;
};

class OneDnnBackwardData final : public OneDnn {
 public:
  using OneDnn::OneDnn;

  bool prepare(Library& lib, std::string& why) {
    const auto describe = [&](const Problem& p, const Desc& w) {
      return describe_backward<BackwardData>(lib.engine, user_scratchpad(), hint(lib, p), p.algorithm, p.run.x, w,
                                             p.run.y, p.strides, p.dilates, p.pad, p.pad);
    };
    return prepare_pieces<BackwardData>(lib, kBackwardData, parts_of_images(whole().shape, most_pieces_), whole().w_any,
                                        describe, why);
  }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    const void* w = load_weights(context, io.w, scratch);
    in_all_pieces(context, [&](Piece& piece, int64_t) {
      void* dx = at(io.dx, piece.x_at);
      const void* dy = piece.y.load(context, at(io.dy, piece.y_at), scratch);
      run_primitive(piece.primitive, piece, piece.x.target(dx, scratch), dy, w, nullptr,
                    scratch_part(scratch, piece.pad));
      piece.x.store(context, dx, scratch);
    });
  }
};

/// Each piece has its own gradients, which are added in order.
class OneDnnBackwardWeights final : public OneDnn {
 public:
  using OneDnn::OneDnn;

  bool prepare(Library& lib, std::string& why) {
    const ConvShape& s = whole().shape;
    const auto describe = [&](const Problem& p, const Desc& w) {
      const auto of = [&](const auto&... operands) {
        return describe_backward<BackwardWeights>(lib.engine, user_scratchpad(), hint(lib, p), p.algorithm, operands...,
                                                  p.strides, p.dilates, p.pad, p.pad);
      };
      return request_.bias ? of(p.run.x, w, p.bias, p.run.y) : of(p.run.x, w, p.run.y);
    };
    // Where the weights outweigh x and y, the additional gradients cost more than other pieces gain.
    const bool heavy = s.weight().count() > (s.x().shape.count() + s.y().shape.count()) / 4;
    const int64_t pieces = heavy ? std::max<int64_t>(2, most_pieces_ / 4) : most_pieces_;
    if (!prepare_pieces<BackwardWeights>(lib, kBackwardWeights, parts_of_images(s, pieces), whole().dw_any, describe,
                                         why))
      return false;
    const int64_t more = int64_t(pieces_.size()) - 1, bias_bytes = s.k * int64_t(sizeof(float));
    sums_ = scratch_.add(more * size_of(w_run_));
    bias_sums_ = scratch_.add(more * bias_bytes);
    if (request_.adds) {
      own_dw_ = scratch_.add(size_of(stored_));
      own_dbias_ = scratch_.add(bias_bytes);
    }
    return true;
  }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    const WeightGradients& g = io.d;
    const int64_t weights = size_of(w_run_) / int64_t(sizeof(float)), k = whole().shape.k;
    float* own = static_cast<float*>(scratch_part(scratch, own_dw_));
    float* own_bias = static_cast<float*>(scratch_part(scratch, own_dbias_));
    float* dw = g.w && !g.add_w ? g.w : own;  // oneDNN cannot accumulate
    float* dbias = g.bias && !g.add_bias ? g.bias : own_bias;
    auto* first = static_cast<float*>(w_.target(dw, scratch));
    float* sums = static_cast<float*>(scratch_part(scratch, sums_));
    float* bias_sums = static_cast<float*>(scratch_part(scratch, bias_sums_));
    in_all_pieces(context, [&](Piece& piece, int64_t i) {
      const void* x = piece.x.load(context, at(io.x, piece.x_at), scratch);
      const void* dy = piece.y.load(context, at(io.dy, piece.y_at), scratch);
      float* to = i == 0 ? first : sums + (i - 1) * weights;
      float* to_bias = i == 0 ? dbias : bias_sums + (i - 1) * k;
      void* pad = scratch_part(scratch, piece.pad);
      if (reads_unwritten_scratch(whole().shape, ConvDirection::kBackwardWeights))
        std::memset(pad, 0, size_t(piece.pad_bytes));
      run_primitive(piece.primitive, piece, x, dy, to, request_.bias ? to_bias : nullptr, pad);
    });
    const int64_t more = int64_t(pieces_.size()) - 1;
    if (g.w) add_to(context, first, sums, weights, more);
    if (g.bias) add_to(context, dbias, bias_sums, k, more);
    if (g.w) w_.store(context, dw, scratch);
    if (g.w && g.add_w) add_to(context, g.w, own, size_of(stored_) / int64_t(sizeof(float)));
    if (g.bias && g.add_bias) add_to(context, g.bias, own_bias, k);
  }

 private:
  int64_t sums_ = 0, bias_sums_ = 0;  ///< offsets of the other pieces' gradients
  int64_t own_dw_ = 0, own_dbias_ = 0;
};

/// Whether the layouts of `variant` suit the shape and differ from the operands' own.
bool applies(const Problem& p, Variant variant, std::string& why) {
  const ConvShape& s = p.shape;
  if (!takes_halves(s.dtype, why)) return false;
  if (s.x().shape.count() == 0) return why = "no elements", false;
  if (too_large(s)) return why = "too large", false;
  if (variant == Variant::kOwn) return true;
  if (s.spatial_axes != 2) return why = "not two spatial axes", false;
  const bool same = p.run.x == p.own.x && p.run.y == p.own.y;
  if (variant == Variant::kWinograd && s.dtype != DType::kF32) return takes(s.dtype, why);
  if (variant == Variant::kWinograd) return same || (why = "x and y are not in blocks", false);
  if (same) return why = "same as the operands' layouts", false;
  if (variant == Variant::kBlocked && !conv_suits_blocks(s.c, s.k, s.groups))
    return why = "groups do not fill blocks", false;
  return true;
}

template <typename Kernel>
std::unique_ptr<ConvKernel> make_kernel(const ConvRequest& request, const Problem& problem, bool large,
                                        Context& context, std::string& why) {
  auto kernel = std::make_unique<Kernel>(request, problem, large, context);
  if (!kernel->prepare(library(context), why)) return nullptr;
  return kernel;
}

template <Variant kVariant, bool kLarge = false>
std::unique_ptr<ConvKernel> make(const ConvRequest& request, ConvDirection direction, Context& context,
                                 std::string& why) {
  return attempt(why, [&]() -> std::unique_ptr<ConvKernel> {
    if (too_large(request.shape)) return why = "too large", nullptr;
    const Problem problem(request.shape, kVariant);
    if (!applies(problem, kVariant, why)) return nullptr;
    if (kLarge && direction != ConvDirection::kForward) return why = "has the same pieces", nullptr;
    switch (direction) {
      case ConvDirection::kForward:
        return make_kernel<OneDnnForward>(request, problem, kLarge, context, why);
      case ConvDirection::kBackwardData:
        return make_kernel<OneDnnBackwardData>(request, problem, kLarge, context, why);
      case ConvDirection::kBackwardWeights:
        return make_kernel<OneDnnBackwardWeights>(request, problem, kLarge, context, why);
    }
    return nullptr;
  });
}

double filled(int64_t channels) { return double((channels + 15) / 16 * 16) / double(channels); }

/// The cost of F(4, 3), which requires AVX-512: products for each of 36 frequencies, transforms of tiles and, on every
/// run, of the weights. Measured from 64 to 512 channels and from 56 x 56 to 7 x 7 positions.
double winograd_cost(const ConvShape& s, ConvDirection direction) {
  const bool to_x = direction == ConvDirection::kBackwardData;
  const int64_t h = to_x ? s.h.in : s.h.out(), w = to_x ? s.w.in : s.w.out();
  const double tiles = double(s.n * ((h + 3) / 4) * ((w + 3) / 4)), c = double(s.c), k = double(s.k);
  return 36 * 1.15 * (tiles * (2 * c * k / kAvx512.flops[0] + (c + k) * 2e-10) + c * k * 4e-10);
}

/// In blocks, 20 channels cost as much as 32. Channels-last has no padding, except that backward_data with AVX-512 pads
/// c. With AVX2 only channels-last has fast kernels, with blocks of 8.
template <Variant kVariant>
double cost(const ConvRequest& request, ConvDirection direction, CpuLevel level) {
  const ConvShape& s = request.shape;
  if (kVariant == Variant::kWinograd) return winograd_cost(s, direction);
  const double flops = 2 * double(s.macs());
  const bool own = kVariant == Variant::kOwn;
  const Layout run = kVariant == Variant::kLast ? Layout::kChannelsLast : own ? s.y_layout : Layout::kBlocked16;
  double padding = 1;
  if (s.groups == 1 && run == Layout::kBlocked16)
    padding = filled(s.k) * (conv_suits_plain_x(s.c, s.groups) ? 1 : filled(s.c));
  if (run == Layout::kChannelsLast && level == CpuLevel::kAvx512)
    padding = direction == ConvDirection::kBackwardData ? filled(s.c) * 1.2 : 1.2;
  if (run == Layout::kPlain) padding = 4;
  double moved = 0;
  const double bytes_moved = 2 * double(size_of(s.dtype));
  if (!own && s.x_layout != run) moved += bytes_moved * double(s.x().shape.count());
  if (!own && s.y_layout != run) moved += bytes_moved * double(s.y().shape.count());
  const Rates& rates = rates_of(s.dtype, level);
  if (s.dtype == DType::kBF16 && direction != ConvDirection::kBackwardWeights)
    moved += 1.5 * double(s.weight().count());
  // The extra pass over x that looks for NaN is significant for depthwise filters.
  if (s.groups > 1 && s.groups == s.c && direction == ConvDirection::kForward && needs_finite(request.post))
    moved += double(size_of(s.dtype)) * double(s.x().shape.count());
  return flops * padding / rates.flops[int(direction)] + moved / rates.bytes;
}

}  // namespace

bool onednn::too_large(const ConvShape& s) {
  constexpr int64_t kMax = INT32_MAX / 64;
  for (int64_t extent :
       {s.n, s.c, s.k, s.h.in, s.w.in, s.h.pad, s.w.pad, s.h.stride, s.w.stride, s.h.extent(), s.w.extent()})
    if (extent > kMax) return true;
  return s.x().shape.count(1) > INT32_MAX / 4 || s.y().shape.count(1) > INT32_MAX / 4 ||
         s.weight().count() > INT32_MAX / 4;
}

std::vector<ConvCandidate> onednn_conv_candidates() {
  std::vector<ConvCandidate> list = {
      {"onednn", make<Variant::kOwn>, cost<Variant::kOwn>, &CpuLevels::onednn},
      {"onednn-blocked", make<Variant::kBlocked>, cost<Variant::kBlocked>, &CpuLevels::onednn},
      {"onednn-last", make<Variant::kLast>, cost<Variant::kLast>, &CpuLevels::onednn},
      {"onednn-large", make<Variant::kOwn, true>, cost<Variant::kOwn>, &CpuLevels::onednn},
      {"onednn-last-large", make<Variant::kLast, true>, cost<Variant::kLast>, &CpuLevels::onednn}};
  if (kHasWinograd)
    list.push_back({"onednn-winograd", make<Variant::kWinograd>, cost<Variant::kWinograd>, &CpuLevels::onednn,
                    ConvAlgorithm::kWinograd});
  return list;
}

}  // namespace cortado::kernels

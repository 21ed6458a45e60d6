// Convolution by oneDNN's code generator, direct algorithm. Its fast kernels exist for some storages of x, y and w
// only, and which ones differs between forward and the two backward directions: each direction takes the first storages
// for which there is a fast kernel, the operands' own before others, and reorders through scratch what does not fit.
// Weights live as forward wants them, which is what their gradient comes in, too; backward_data wants their blocks
// transposed.

#include "kernels/conv.h"
#include "kernels/cpu/onednn.h"

namespace cortado::kernels {
namespace {

using namespace onednn;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;
constexpr auto kDirect = dnnl::algorithm::convolution_direct;
constexpr auto kF32 = dnnl::memory::data_type::f32;

struct Storages {
  Desc x, y;
};

/// A convolution in oneDNN's terms.
struct Problem {
  explicit Problem(const ConvShape& s)
      : shape(s),
        x{s.n, s.c, s.h.in, s.w.in},
        y{s.n, s.k, s.h.out(), s.w.out()},
        strides{s.h.stride, s.w.stride},
        dilates{s.h.dilation - 1, s.w.dilation - 1},
        pad{s.h.pad, s.w.pad},
        bias({s.k}, kF32, Tag::x) {
    const int64_t c = s.c / s.groups, k = s.k / s.groups;
    w_any =
        s.groups == 1 ? any_desc({k, c, s.h.kernel, s.w.kernel}) : any_desc({s.groups, k, c, s.h.kernel, s.w.kernel});
    w_plain = plain_desc(Shape(std::vector<int64_t>(w_any.dims())));
    own = {describe({Shape(std::vector<int64_t>(x)), DType::kF32, s.x_layout}),
           describe({Shape(std::vector<int64_t>(y)), DType::kF32, s.y_layout})};
  }

  /// The storages worth trying, best first; `for_dx` in backward_data.
  std::vector<Storages> storages(bool for_dx) const {
    const Storages first_layer{Desc(x, kF32, Tag::nchw), Desc(y, kF32, Tag::nChw16c)};
    const Storages blocked{Desc(x, kF32, Tag::nChw16c), Desc(y, kF32, Tag::nChw16c)};
    const Storages last{Desc(x, kF32, Tag::nhwc), Desc(y, kF32, Tag::nhwc)};
    if (conv_suits_plain_x(shape.c, shape.groups)) return {own, first_layer, last, blocked};
    if (!conv_suits_blocks(shape.c, shape.k, shape.groups)) return {own, last};
    return padding_costs_more_than_reorders(for_dx) ? std::vector{last, own, blocked} : std::vector{own, blocked, last};
  }

  /// In blocks, 20 channels cost as much as 32. Channels-last costs what there is (backward_data pads c all the same),
  /// and copies of x and y: measured, moving an element takes the time of about 100 multiplications.
  bool padding_costs_more_than_reorders(bool for_dx) const {
    const auto padding = [](int64_t channels) { return double((channels + 15) / 16 * 16) / double(channels); };
    const double waste = padding(shape.k) * (for_dx ? 1 : padding(shape.c)) - 1;
    const double moved = double(shape.x().shape.count()) + double(shape.y().shape.count());
    return shape.groups == 1 && double(shape.macs()) * waste > 100 * moved;
  }

  ConvShape shape;
  Dims x, y, strides, dilates, pad;
  Desc bias, w_any, w_plain;
  Storages own;
};

/// oneDNN's own im2col counts as slow: ours is the candidate after this one.
bool is_fast(const std::string& impl) { return !is_reference(impl) && impl.find("gemm:jit") == std::string::npos; }

/// The first of make(storages, weights) that is fast; nothing with the reason in `why`.
template <typename PrimitiveDesc, typename Make>
std::optional<PrimitiveDesc> first_fast(const Problem& problem, const std::vector<Desc>& weights, std::string& why,
                                        const Make& make) {
  for (const Storages& s : problem.storages(std::is_same_v<PrimitiveDesc, BackwardData::primitive_desc>))
    for (const Desc& w : weights) {
      auto pd = attempt(why, [&]() -> std::optional<PrimitiveDesc> { return make(s, w); });
      if (pd && is_fast(impl_of(*pd))) return pd;
      if (pd) why = "only " + impl_of(*pd);
    }
  return {};
}

dnnl::primitive_attr forward_attributes(bool relu) {
  dnnl::primitive_attr attributes = user_scratchpad();
  if (relu) {
    dnnl::post_ops after;
    after.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
    attributes.set_post_ops(after);
  }
  return attributes;
}

int64_t size_of(const Desc& desc) { return int64_t(desc.get_size()); }

class OneDnn final : public Conv {
 public:
  OneDnn(const ConvRequest& request) : request_(request), problem_(request.shape) {}

  /// False, with the reason in `why`, where a direction has no fast kernel.
  bool prepare(Context& context, std::string& why) {
    Library& lib = library(context);
    return prepare_forward(lib, why) && (!request_.backward_data || prepare_data(lib, why)) &&
           (!request_.backward_weights || prepare_weights(lib, why));
  }

  std::string name() const override { return name_; }
  WeightFormat weight_format() const override {
    return kernels::onednn::weight_format(problem_.shape.weight(), problem_.w_plain, stored_);
  }
  int64_t forward_scratch() const override { return forward_.scratch.bytes(); }
  int64_t backward_scratch() const override { return std::max(data_.scratch.bytes(), weights_.scratch.bytes()); }

  void forward(Context& context, const float* x, const float* w, const float* bias, float* y, void* scratch) override {
    Library& lib = library(context);
    Direction& d = forward_;
    const void* x_in = d.x.load(lib, x, scratch);
    const void* w_in = d.w.load(lib, w, scratch);
    void* pad = scratch_part(scratch, d.pad);
    if (bias)
      d.primitive.run(lib, {x_in, w_in, d.y.target(y, scratch), pad, bias});
    else
      d.primitive.run(lib, {x_in, w_in, d.y.target(y, scratch), pad});
    d.y.store(lib, y, scratch);
  }

  void backward_data(Context& context, const float* dy, const float* w, float* dx, void* scratch) override {
    Library& lib = library(context);
    Direction& d = data_;
    const void* dy_in = d.y.load(lib, dy, scratch);
    const void* w_in = d.w.load(lib, w, scratch);
    d.primitive.run(lib, {dy_in, w_in, d.x.target(dx, scratch), scratch_part(scratch, d.pad)});
    d.x.store(lib, dx, scratch);
  }

  void backward_weights(Context& context, const float* x, const float* dy, const Gradients& g, void* scratch) override {
    Library& lib = library(context);
    Direction& d = weights_;
    const void* x_in = d.x.load(lib, x, scratch);
    const void* dy_in = d.y.load(lib, dy, scratch);
    float* sum = static_cast<float*>(scratch_part(scratch, own_dw_));
    float* bias_sum = static_cast<float*>(scratch_part(scratch, own_dbias_));
    float* dw = g.w && !g.add_w ? g.w : sum;  // oneDNN only overwrites
    float* dbias = g.bias && !g.add_bias ? g.bias : bias_sum;
    void *dw_in = d.w.target(dw, scratch), *pad = scratch_part(scratch, d.pad);
    if (request_.bias)
      d.primitive.run(lib, {x_in, dy_in, dw_in, pad, dbias});
    else
      d.primitive.run(lib, {x_in, dy_in, dw_in, pad});
    if (g.w) d.w.store(lib, dw, scratch);
    if (g.w && g.add_w) add_to(context, g.w, sum, size_of(stored_) / int64_t(sizeof(float)));
    if (g.bias && g.add_bias) add_to(context, g.bias, bias_sum, problem_.shape.k);
  }

 private:
  /// One primitive with the operands that it wants stored otherwise.
  struct Direction {
    Primitive primitive;
    Staged x, y, w;
    ScratchLayout scratch;
    int64_t pad = 0;  ///< where the primitive's own scratchpad lies
  };

  bool prepare_forward(const Library& lib, std::string& why) {
    const Problem& p = problem_;
    const auto pd = first_fast<Forward::primitive_desc>(p, {p.w_any}, why, [&](const Storages& s, const Desc& w) {
      constexpr auto kKind =
          dnnl::prop_kind::forward_training;  // in both phases, so that nets which share weights agree
      const auto desc = request_.bias
                            ? Forward::desc(kKind, kDirect, s.x, w, p.bias, s.y, p.strides, p.dilates, p.pad, p.pad)
                            : Forward::desc(kKind, kDirect, s.x, w, s.y, p.strides, p.dilates, p.pad, p.pad);
      return Forward::primitive_desc(desc, forward_attributes(request_.relu), lib.engine);
    });
    if (!pd) return false;
    const Desc x = pd->src_desc(), y = pd->dst_desc(), w = pd->weights_desc();
    stored_ = request_.w_format ? stored_desc(*request_.w_format, p.w_plain) : w;
    forward_pd_ = *pd;
    Direction& d = forward_;
    d.x = Staged(lib, p.own.x, x, Staged::Way::kIn, d.scratch);
    d.y = Staged(lib, p.own.y, y, Staged::Way::kOut, d.scratch);
    d.w = Staged(lib, stored_, w, Staged::Way::kIn, d.scratch);
    finish(lib, d, *pd, Forward(*pd), {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}}, DNNL_ARG_BIAS);
    return true;
  }

  bool prepare_data(const Library& lib, std::string& why) {
    const Problem& p = problem_;
    const auto pd =
        first_fast<BackwardData::primitive_desc>(p, {stored_, p.w_any}, why, [&](const Storages& s, const Desc& w) {
          const BackwardData::desc desc(kDirect, s.x, w, s.y, p.strides, p.dilates, p.pad, p.pad);
          return BackwardData::primitive_desc(desc, user_scratchpad(), lib.engine, forward_pd_);
        });
    if (!pd) return why += " for dx", false;
    const Desc x = pd->diff_src_desc(), y = pd->diff_dst_desc(), w = pd->weights_desc();
    Direction& d = data_;
    d.x = Staged(lib, p.own.x, x, Staged::Way::kOut, d.scratch);
    d.y = Staged(lib, p.own.y, y, Staged::Way::kIn, d.scratch);
    d.w = Staged(lib, stored_, w, Staged::Way::kIn, d.scratch);
    finish(lib, d, *pd, BackwardData(*pd), {{DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_SRC, x}}, 0);
    return true;
  }

  bool prepare_weights(const Library& lib, std::string& why) {
    const Problem& p = problem_;
    const auto pd =
        first_fast<BackwardWeights::primitive_desc>(p, {stored_, p.w_any}, why, [&](const Storages& s, const Desc& w) {
          const auto desc =
              request_.bias ? BackwardWeights::desc(kDirect, s.x, w, p.bias, s.y, p.strides, p.dilates, p.pad, p.pad)
                            : BackwardWeights::desc(kDirect, s.x, w, s.y, p.strides, p.dilates, p.pad, p.pad);
          if (overruns(s)) throw dnnl::error(dnnl_unimplemented, "would write past its workspace");
          return BackwardWeights::primitive_desc(desc, user_scratchpad(), lib.engine, forward_pd_);
        });
    if (!pd) return why += " for dw", false;
    const Desc x = pd->src_desc(), y = pd->diff_dst_desc(), w = pd->diff_weights_desc();
    Direction& d = weights_;
    d.x = Staged(lib, p.own.x, x, Staged::Way::kIn, d.scratch);
    d.y = Staged(lib, p.own.y, y, Staged::Way::kIn, d.scratch);
    d.w = Staged(lib, stored_, w, Staged::Way::kOut, d.scratch);
    if (request_.adds) {
      own_dw_ = d.scratch.add(size_of(stored_));
      own_dbias_ = d.scratch.add(p.shape.k * int64_t(sizeof(float)));
    }
    finish(lib, d, *pd, BackwardWeights(*pd), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_DIFF_WEIGHTS, w}},
           DNNL_ARG_DIFF_BIAS);
    return true;
  }

  /// oneDNN's strided 1x1 kernel in channels-last copies x into a workspace that is too small for few channels
  /// (github.com/oneapi-src/oneDNN issue 6035).
  bool overruns(const Storages& s) const {
    const ConvShape& g = problem_.shape;
    const bool pointwise = g.h.kernel == 1 && g.w.kernel == 1 && (g.h.stride > 1 || g.w.stride > 1);
    return pointwise && g.c / g.groups < 16 && s.x == Desc(problem_.x, kF32, Tag::nhwc);
  }

  /// Makes the primitive: its operands, its scratchpad and, where there is one, the bias.
  template <typename PrimitiveDesc>
  void finish(const Library& lib, Direction& d, const PrimitiveDesc& pd, dnnl::primitive primitive,
              std::vector<std::pair<int, Desc>> arguments, int bias_argument) {
    d.pad = d.scratch.add(size_of(pd.scratchpad_desc()));
    arguments.push_back({DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc()});
    if (request_.bias && bias_argument) arguments.push_back({bias_argument, problem_.bias});
    d.primitive = Primitive(lib, std::move(primitive), arguments);
    std::string name = impl_of(pd);
    if (d.x.copies() || d.y.copies()) name += " behind reorders";
    if (name_.empty())
      name_ = "onednn " + name;
    else if (name_.find(name) == std::string::npos)
      name_ += ", " + name;
  }

  ConvRequest request_;
  Problem problem_;
  Desc stored_;
  Forward::primitive_desc forward_pd_;
  Direction forward_, data_, weights_;
  int64_t own_dw_ = 0, own_dbias_ = 0;
  std::string name_;
};

/// oneDNN counts extents, and bytes within one image, in 32 bits.
bool too_large(const ConvShape& s) {
  constexpr int64_t kMost = INT32_MAX / 64;
  for (int64_t extent :
       {s.n, s.c, s.k, s.h.in, s.w.in, s.h.pad, s.w.pad, s.h.stride, s.w.stride, s.h.extent(), s.w.extent()})
    if (extent > kMost) return true;
  return s.x().shape.count(1) > INT32_MAX / 4 || s.y().shape.count(1) > INT32_MAX / 4 ||
         s.weight().count() > INT32_MAX / 4;
}

}  // namespace

std::unique_ptr<Conv> make_conv_onednn(const ConvRequest& request, Context& context, std::string& why) {
  const ConvShape& s = request.shape;
  if (s.x().shape.count() == 0) return why = "no elements", nullptr;
  if (too_large(s)) return why = "too large", nullptr;
  return attempt(why, [&]() -> std::unique_ptr<Conv> {
    auto conv = std::make_unique<OneDnn>(request);
    if (conv->prepare(context, why)) return conv;
    return nullptr;
  });
}

}  // namespace cortado::kernels

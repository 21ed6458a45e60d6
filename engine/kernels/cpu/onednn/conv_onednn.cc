// Convolution by oneDNN's JIT kernels. Fast kernels exist only for some layouts of x, y and w, which differ between
// directions. There is a candidate for each pair of layouts that may be worth its reorders, including the operands'
// own, and one for Winograd, which oneDNN 2.6 never selects by itself. Weights are stored in forward's format, which
// their gradient shares; backward_data needs transposed blocks. For bfloat16 values trained weights stay 32-bit floats,
// in blocks if the library has no format for them, and are rounded on every call; frozen weights are rounded once.

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

class OneDnn : public ConvKernel {
 public:
  OneDnn(const ConvRequest& request, const Problem& problem) : request_(request), problem_(problem) {}

  std::string name() const override { return name_; }
  WeightFormat weight_format() const override {
    return kernels::onednn::weight_format(problem_.shape.weight(), problem_.w_plain, stored_);
  }
  WeightFormat bias_format() const override { return WeightFormat(Shape{problem_.shape.k}); }
  int64_t scratch() const override { return scratch_.bytes(); }

 protected:
  /// The first fast descriptor of make(weights). The caller's format of the weights is tried first.
  template <typename PrimitiveDesc, typename Make>
  std::optional<PrimitiveDesc> first_fast(std::string& why, ConvDirection direction, const Desc& any,
                                          const Make& make) {
    std::vector<Desc> weights = {any};
    if (request_.w_format) weights.insert(weights.begin(), stored_desc(*request_.w_format, problem_.w_plain));
    for (const Desc& w : weights) {
      auto pd = attempt(why, [&]() -> std::optional<PrimitiveDesc> { return make(w); });
      if (!pd) continue;
      const std::string impl = impl_of(*pd);
      if (is_faulty(problem_.shape, direction, impl, problem_.channels_last()))
        why = impl + " is faulty";
      else if (is_fast(impl))
        return pd;
      else
        why = "only " + impl;
    }
    return {};
  }

  void stage(Library& lib, const Desc& x, Staged::Way x_way, const Desc& y, Staged::Way y_way, const Desc& w,
             Staged::Way w_way) {
    const bool rounds = problem_.rounds_weights() && !request_.frozen;
    stored_ = request_.w_format ? stored_desc(*request_.w_format, problem_.w_plain) : rounds ? problem_.w_trained() : w;
    x_ = Staged(lib, problem_.own.x, x, x_way, scratch_);
    y_ = Staged(lib, problem_.own.y, y, y_way, scratch_);
    if (w_way == Staged::Way::kIn) rounded_ = RoundedFilters::between(problem_.w_plain, stored_, w);
    if (rounded_)
      rounded_at_ = scratch_.add(size_of(w));
    else
      w_ = Staged(lib, stored_, w, w_way, scratch_);
  }

  /// The weights in the primitive's format.
  const void* load_weights(Context& context, Library& lib, const void* w, void* scratch) {
    if (!rounded_) return w_.load(lib, w, scratch);
    rounded_->run(context, w, scratch_part(scratch, rounded_at_));
    return scratch_part(scratch, rounded_at_);
  }

  /// Creates the primitive with its operands, its scratchpad and an optional bias.
  template <typename PrimitiveDesc>
  void finish(Library& lib, const PrimitiveDesc& pd, dnnl::primitive primitive,
              std::vector<std::pair<int, Desc>> arguments, int bias_argument) {
    pad_bytes_ = size_of(pd.scratchpad_desc());
    pad_ = scratch_.add(pad_bytes_);
    arguments.push_back({DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc()});
    if (request_.bias && bias_argument) arguments.push_back({bias_argument, problem_.bias});
    primitive_ = Primitive(lib, std::move(primitive), arguments);
    name_ = "onednn " + impl_of(pd) + (x_.copies() || y_.copies() ? " with reorders" : "");
  }

  ConvRequest request_;
  Problem problem_;
  Desc stored_;  ///< of w and dw
  Primitive primitive_;
  Staged x_, y_, w_;
  std::optional<RoundedFilters> rounded_;  ///< replaces w_ if possible
  ScratchLayout scratch_;
  int64_t rounded_at_ = 0;
  int64_t pad_ = 0, pad_bytes_ = 0;  ///< offset and size of the primitive's scratchpad
  std::string name_;
};

/// If the activation needs_finite() and sums may overflow, the primitive runs without the activation, which is applied
/// separately.
class OneDnnForward final : public OneDnn {
 public:
  using OneDnn::OneDnn;

  bool prepare(Library& lib, std::string& why) {
    const Problem& p = problem_;
    const auto alone = if_small();
    if (request_.post.sum && p.run.y != p.own.y) return why = "adds only to y in the caller's layout", false;
    const auto pd = first_fast<Forward::primitive_desc>(why, ConvDirection::kForward, p.w_any, [&](const Desc& w) {
      return describe_sound(lib, w, forward_attributes(request_));
    });
    if (!pd) return false;
    const Desc x = pd->src_desc(), y = pd->dst_desc(), w = pd->weights_desc();
    stage(lib, x, Staged::Way::kIn, y, Staged::Way::kOut, w, Staged::Way::kIn);
    finish(lib, *pd, Forward(*pd), {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}}, DNNL_ARG_BIAS);
    x_values_ = values_of(x), w_values_ = values_of(w), y_values_ = values_of(y);
    products_ = double(problem_.shape.weight().count() / problem_.shape.k);
    w_run_ = w;
    return true;
  }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    Library& lib = library(context);
    const auto alone = if_small();
    const void* x = x_.load(lib, io.x, scratch);
    const void* w = load_weights(context, lib, io.w, scratch);
    void* y = y_.target(io.y, scratch);
    if (needs_finite(request_.post) && !excludes_nan(context, x, w, io.bias, y)) {
      run_apart(context, lib, x, w, io.bias, y);
    } else {
      void* pad = scratch_part(scratch, pad_);
      if (request_.bias)
        primitive_.run(lib, {x, w, y, pad, io.bias});
      else
        primitive_.run(lib, {x, w, y, pad});
    }
    y_.store(lib, io.y, scratch);
  }

 private:
  /// A small convolution runs in the calling thread, because waking the library's threads takes as long; not with
  /// kLargeWeights, nor in training: OpenMP allocates a team of one thread each time.
  std::optional<LibrariesAlone> if_small() const {
    if (request_.backward_data || request_.backward_weights) return std::nullopt;
    constexpr double kProducts = 1 << 20;
    const ConvShape& s = problem_.shape;
    const double places = double(s.n) * double(s.h.out()) * double(s.w.out());
    const int64_t weights = s.weight().count();
    if (places * double(weights) > kProducts || weights > kLargeWeights) return std::nullopt;
    return std::optional<LibrariesAlone>(std::in_place);
  }

  int64_t values_of(const Desc& desc) const { return size_of(desc) / int64_t(cortado::size_of(problem_.shape.dtype)); }

  /// An upper bound of the growth of values in the algorithms' transforms.
  static constexpr double kGrowth = 1e4;

  /// Whether all operands are so small that no sum of products can overflow in any order.
  bool excludes_nan(Context& context, const void* x, const void* w, const void* bias, const void* y) {
    const ConvShape& s = problem_.shape;
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
  Forward::primitive_desc describe_sound(const Library& lib, const Desc& w, const dnnl::primitive_attr& attributes) {
    auto pd = describe_conv(lib, problem_, problem_.run, w, request_.bias, attributes);
    skip_faulty(pd, problem_.shape, problem_.channels_last());
    return pd;
  }

  /// Rare, so the primitive is created on demand.
  void run_apart(Context& context, Library& lib, const void* x, const void* w, const void* bias, void* y) {
    if (!apart_) make_apart(lib);
    if (request_.bias)
      apart_.run(lib, {x, w, y, bias});
    else
      apart_.run(lib, {x, w, y});
    activate(context, request_.post.activation, problem_.shape.dtype, y, y_values_);
  }

  void make_apart(Library& lib) {
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(describe(without_activation(request_.post)));
    const auto pd = describe_sound(lib, w_run_, attributes);
    std::vector<std::pair<int, Desc>> arguments = {
        {DNNL_ARG_SRC, pd.src_desc()}, {DNNL_ARG_WEIGHTS, w_run_}, {DNNL_ARG_DST, pd.dst_desc()}};
    if (request_.bias) arguments.push_back({DNNL_ARG_BIAS, problem_.bias});
    apart_ = Primitive(lib, Forward(pd), arguments);
  }

  int64_t x_values_ = 0, w_values_ = 0, y_values_ = 0;  ///< as stored by the primitive, including padding
  double products_ = 0;                                 ///< products per value of y
  Desc w_run_;                                          ///< in the primitive's format
  std::optional<double> w_largest_;
  Primitive apart_;  ///< without the activation
};

class OneDnnBackwardData final : public OneDnn {
 public:
  using OneDnn::OneDnn;

  bool prepare(Library& lib, std::string& why) {
    const Problem& p = problem_;
    const auto pd =
        first_fast<BackwardData::primitive_desc>(why, ConvDirection::kBackwardData, p.w_any, [&](const Desc& w) {
          return describe_backward<BackwardData>(lib.engine, user_scratchpad(), hint(lib, p), p.algorithm, p.run.x, w,
                                                 p.run.y, p.strides, p.dilates, p.pad, p.pad);
        });
    if (!pd) return false;
    const Desc x = pd->diff_src_desc(), y = pd->diff_dst_desc(), w = pd->weights_desc();
    stage(lib, x, Staged::Way::kOut, y, Staged::Way::kIn, w, Staged::Way::kIn);
    finish(lib, *pd, BackwardData(*pd), {{DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_SRC, x}}, 0);
    return true;
  }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    Library& lib = library(context);
    const void* dy = y_.load(lib, io.dy, scratch);
    const void* w = load_weights(context, lib, io.w, scratch);
    primitive_.run(lib, {dy, w, x_.target(io.dx, scratch), scratch_part(scratch, pad_)});
    x_.store(lib, io.dx, scratch);
  }
};

class OneDnnBackwardWeights final : public OneDnn {
 public:
  using OneDnn::OneDnn;

  bool prepare(Library& lib, std::string& why) {
    const Problem& p = problem_;
    const auto pd =
        first_fast<BackwardWeights::primitive_desc>(why, ConvDirection::kBackwardWeights, p.dw_any, [&](const Desc& w) {
          const auto of = [&](const auto&... operands) {
            return describe_backward<BackwardWeights>(lib.engine, user_scratchpad(), hint(lib, p), p.algorithm,
                                                      operands..., p.strides, p.dilates, p.pad, p.pad);
          };
          return request_.bias ? of(p.run.x, w, p.bias, p.run.y) : of(p.run.x, w, p.run.y);
        });
    if (!pd) return false;
    const Desc x = pd->src_desc(), y = pd->diff_dst_desc(), w = pd->diff_weights_desc();
    stage(lib, x, Staged::Way::kIn, y, Staged::Way::kIn, w, Staged::Way::kOut);
    if (request_.adds) {
      own_dw_ = scratch_.add(size_of(stored_));
      own_dbias_ = scratch_.add(p.shape.k * int64_t(sizeof(float)));
    }
    finish(lib, *pd, BackwardWeights(*pd), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_DIFF_WEIGHTS, w}},
           DNNL_ARG_DIFF_BIAS);
    return true;
  }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    Library& lib = library(context);
    const WeightGradients& g = io.d;
    const void* x = x_.load(lib, io.x, scratch);
    const void* dy = y_.load(lib, io.dy, scratch);
    float* sum = static_cast<float*>(scratch_part(scratch, own_dw_));
    float* bias_sum = static_cast<float*>(scratch_part(scratch, own_dbias_));
    float* dw = g.w && !g.add_w ? g.w : sum;  // oneDNN cannot accumulate
    float* dbias = g.bias && !g.add_bias ? g.bias : bias_sum;
    void *dw_in = w_.target(dw, scratch), *pad = scratch_part(scratch, pad_);
    if (reads_unwritten_scratch(problem_.shape, ConvDirection::kBackwardWeights))
      parallel_ranges(context, pad_bytes_, 1 << 16, [&](int64_t begin, int64_t end) {
        std::memset(static_cast<std::byte*>(pad) + begin, 0, size_t(end - begin));
      });
    if (request_.bias)
      primitive_.run(lib, {x, dy, dw_in, pad, dbias});
    else
      primitive_.run(lib, {x, dy, dw_in, pad});
    if (g.w) w_.store(lib, dw, scratch);
    if (g.w && g.add_w) add_to(context, g.w, sum, size_of(stored_) / int64_t(sizeof(float)));
    if (g.bias && g.add_bias) add_to(context, g.bias, bias_sum, problem_.shape.k);
  }

 private:
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
std::unique_ptr<ConvKernel> make_kernel(const ConvRequest& request, const Problem& problem, Library& lib,
                                        std::string& why) {
  auto kernel = std::make_unique<Kernel>(request, problem);
  if (!kernel->prepare(lib, why)) return nullptr;
  return kernel;
}

template <Variant kVariant>
std::unique_ptr<ConvKernel> make(const ConvRequest& request, ConvDirection direction, Context& context,
                                 std::string& why) {
  return attempt(why, [&]() -> std::unique_ptr<ConvKernel> {
    if (too_large(request.shape)) return why = "too large", nullptr;
    const Problem problem(request.shape, kVariant);
    if (!applies(problem, kVariant, why)) return nullptr;
    Library& lib = library(context);
    switch (direction) {
      case ConvDirection::kForward:
        return make_kernel<OneDnnForward>(request, problem, lib, why);
      case ConvDirection::kBackwardData:
        return make_kernel<OneDnnBackwardData>(request, problem, lib, why);
      case ConvDirection::kBackwardWeights:
        return make_kernel<OneDnnBackwardWeights>(request, problem, lib, why);
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
      {"onednn-last", make<Variant::kLast>, cost<Variant::kLast>, &CpuLevels::onednn}};
  if (kHasWinograd)
    list.push_back({"onednn-winograd", make<Variant::kWinograd>, cost<Variant::kWinograd>, &CpuLevels::onednn,
                    ConvAlgorithm::kWinograd});
  return list;
}

}  // namespace cortado::kernels

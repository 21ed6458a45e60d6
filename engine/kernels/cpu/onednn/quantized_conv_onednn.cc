// Convolution of 8-bit integers by oneDNN, channels last.

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "kernels/cpu/largest_magnitude.h"
#include "kernels/cpu/onednn/faults.h"
#include "kernels/cpu/onednn/onednn.h"
#include "kernels/quantized_conv.h"

namespace cortado::kernels {
namespace {

using namespace onednn;
using Type = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;
using Forward = dnnl::convolution_forward;

/// Whether products of 8-bit integers accumulate directly in 32 bits (VNNI), not in pairs of 16 bits first.
bool sums_in_32_bits() {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  return includes(isa, dnnl::cpu_isa::avx2_vnni) || includes(isa, dnnl::cpu_isa::avx512_core_vnni);
}

/// Weights as 8-bit integers in a primitive's format, with a scale per output channel.
struct IntegerWeights final : WeightFormat::Opaque {
  IntegerWeights(const Desc& plain, const Desc& stored, std::vector<float> scales)
      : plain(plain), stored(stored), scales(std::move(scales)) {}

  int64_t bytes() const override { return (int64_t(stored.get_size()) + 3) / 4 * 4; }
  bool equals(const Opaque& other) const override {
    const auto* same = dynamic_cast<const IntegerWeights*>(&other);
    return same && same->stored == stored && same->scales == scales;
  }
  std::string name() const override { return "onednn s8"; }
  DType dtype() const override { return DType::kS8; }
  bool reversible() const override { return false; }
  void to_plain(Context&, const void*, float*) const override {
    throw_internal("rounded weights cannot be converted back");
  }
  /// Throws Error(kSnapshot) for NaN and infinite values.
  void from_plain(Context& context, const float* values, void* target) const override {
    const int64_t n = int64_t(plain.get_size() / sizeof(float));
    if (!std::isfinite(largest_magnitude(context, values, DType::kF32, n)))
      throw Error(ExitCode::kSnapshot, "weights of an 8-bit convolution are infinite or NaN");
    const bool grouped = extents(plain).size() == 5;
    copy(context, plain, values, stored, target, Factors::of_reorder(scales, grouped ? 3 : 1));
  }

  Desc plain, stored;
  std::vector<float> scales;
};

/// A bias in the units in which the library adds it.
struct ScaledBias final : WeightFormat::Opaque {
  explicit ScaledBias(std::vector<float> scales) : scales(std::move(scales)) {}

  int64_t bytes() const override { return int64_t(scales.size() * sizeof(float)); }
  bool equals(const Opaque& other) const override {
    const auto* same = dynamic_cast<const ScaledBias*>(&other);
    return same && same->scales == scales;
  }
  std::string name() const override { return "scaled"; }
  bool reversible() const override { return false; }
  void to_plain(Context&, const void*, float*) const override {
    throw_internal("a scaled bias cannot be converted back");
  }
  void from_plain(Context&, const float* plain, void* target) const override {
    for (size_t k = 0; k < scales.size(); ++k) static_cast<float*>(target)[k] = plain[k] * scales[k];
  }

  std::vector<float> scales;
};

/// The largest scale. Larger ones belong to channels whose weights are almost 0, and would overflow in products with
/// other scales.
constexpr float kMaxScale = 1e12f;

/// A piece of the work: some images, or some rows of an image's y with the rows of x that they read.
struct Part {
  int64_t image, images;
  int64_t x_row, x_rows, y_row, y_rows;
  int64_t above, below;  ///< rows of padding
};

std::vector<Part> parts_of_images(const ConvShape& s, const Cut& cut) {
  std::vector<Part> parts;
  for (int64_t i = 0; i < cut.pieces; ++i)
    parts.push_back({cut.begin(i), cut.size(i), 0, s.h.in, 0, s.h.out(), s.h.pad, s.h.pad});
  return parts;
}

/// `cut` divides the rows of each image. Empty if a part would read nothing but padding.
std::vector<Part> parts_of_rows(const ConvShape& s, const Cut& cut) {
  std::vector<Part> parts;
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t i = 0; i < cut.pieces; ++i) {
      const int64_t row = cut.begin(i), rows = cut.size(i);
      const int64_t begin = row * s.h.stride - s.h.pad, end = begin + (rows - 1) * s.h.stride + s.h.extent();
      const int64_t first = std::max<int64_t>(0, begin), last = std::min(s.h.in, end);
      if (first >= last) return {};
      parts.push_back({image, 1, first, last - first, row, rows, first - begin, end - last});
    }
  return parts;
}

class OneDnn final : public ConvKernel {
 public:
  OneDnn(const QuantizedConvRequest& request, Context& context) : request_(request) {
    const ConvShape& s = request.shape;
    const float room = request.x.dtype == DType::kU8 && !sums_in_32_bits() ? 0.5f : 1.0f;
    std::vector<float> to_y;
    for (const float scale : request.w_scales) {
      w_scales_.push_back(std::min(scale, kMaxScale) * room);
      const float of_products = request.x.scale * w_scales_.back();
      to_y.push_back(request.y.scale / of_products);
      bias_scales_.push_back(kFactorsIncludeBias ? of_products : request.y.scale);
    }
    factors_ = Factors::of_convolution(std::move(to_y), s.groups > 1);
    const double work = double(s.macs()) / 16;
    const std::vector<Part> images = parts_of_images(s, cut_of(context, s.n, work));
    std::vector<Part> rows;
    if (int64_t(images.size()) < context.pieces / 2)
      rows = parts_of_rows(s, cut_of(context, s.h.out(), work / double(s.n)));
    std::string why;
    if (rows.size() <= images.size() || !attempt(why, [&] { return add_pieces(library(context), rows); }))
      add_pieces(library(context), images);
  }

  std::string name() const override { return name_; }
  WeightFormat weight_format() const override {
    return WeightFormat(request_.shape.weight(),
                        std::make_shared<IntegerWeights>(weights_desc(Type::f32), stored_, w_scales_));
  }
  WeightFormat bias_format() const override {
    return WeightFormat(Shape{request_.shape.k}, std::make_shared<ScaledBias>(bias_scales_));
  }
  int64_t scratch() const override { return pieces_.bytes(3); }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    if (request_.bias)
      pieces_.run(context, {io.x, io.w, io.y, scratch, io.bias});
    else
      pieces_.run(context, {io.x, io.w, io.y, scratch});
  }

 private:
  bool add_pieces(Library& lib, const std::vector<Part>& parts) {
    const ConvShape& s = request_.shape;
    pieces_ = {};
    for (const Part& part : parts) {
      Forward::primitive_desc pd = describe_conv(lib, part, &part == &parts[0] ? weights_desc(Type::s8) : stored_);
      skip_faulty(pd, s, true);
      stored_ = pd.weights_desc();
      const int64_t x_row = s.w.in * s.c * int64_t(cortado::size_of(request_.x.dtype)),
                    y_row = s.w.out() * s.k * int64_t(cortado::size_of(request_.y.dtype)),
                    x_at = (part.image * s.h.in + part.x_row) * x_row,
                    y_at = (part.image * s.h.out() + part.y_row) * y_row;
      std::vector<Operand> operands = {{DNNL_ARG_SRC, pd.src_desc(), Sharing::kAt, x_at},
                                       {DNNL_ARG_WEIGHTS, stored_, Sharing::kAt},
                                       {DNNL_ARG_DST, pd.dst_desc(), Sharing::kAt, y_at},
                                       {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), Sharing::kScratch}};
      if (request_.bias) operands.push_back({DNNL_ARG_BIAS, Desc({s.k}, Type::f32, Tag::x), Sharing::kAt});
      pieces_.add(lib, Forward(pd), operands, factors_);
      name_ = "onednn " + impl_of(pd);
    }
    return true;
  }

  /// Row-major for floats, any format for integers.
  Desc weights_desc(Type type) const {
    const ConvShape& s = request_.shape;
    dnnl::memory::dims dims = {s.k / s.groups, s.c / s.groups, s.h.kernel, s.w.kernel};
    if (s.groups > 1) dims.insert(dims.begin(), s.groups);
    return type == Type::f32 ? plain_desc(Shape(std::vector<int64_t>(dims))) : Desc(dims, type, Tag::any);
  }

  /// With weights of format `w`.
  Forward::primitive_desc describe_conv(const Library& lib, const Part& part, const Desc& w) const {
    const ConvShape& s = request_.shape;
    const Desc x = describe({{part.images, s.c, part.x_rows, s.w.in}, request_.x.dtype, Layout::kChannelsLast});
    const Desc y = describe({{part.images, s.k, part.y_rows, s.w.out()}, request_.y.dtype, Layout::kChannelsLast});
    const Desc bias({s.k}, Type::f32, Tag::x);
    const dnnl::memory::dims strides{s.h.stride, s.w.stride}, dilates{s.h.dilation - 1, s.w.dilation - 1},
        before{part.above, s.w.pad}, after{part.below, s.w.pad};
    constexpr auto kKind = dnnl::prop_kind::forward_inference;
    constexpr auto kDirect = dnnl::algorithm::convolution_direct;
    dnnl::primitive_attr attributes = user_scratchpad();
    factors_.add_to(attributes);
    attributes.set_post_ops(describe(request_.post, request_.y, request_.z));
    const auto of = [&](const auto&... operands) {
      return describe_forward<Forward>(lib.engine, attributes, kKind, kDirect, operands..., strides, dilates, before,
                                       after);
    };
    return request_.bias ? of(x, w, bias, y) : of(x, w, y);
  }

  QuantizedConvRequest request_;
  std::vector<float> w_scales_, bias_scales_;  ///< per output channel
  Factors factors_;                            ///< from products to y
  Desc stored_;
  PrimitivePieces pieces_;
  std::string name_;
};

}  // namespace

bool has_quantized_convs() {
#ifdef __x86_64__
  return true;
#else
  return false;
#endif
}

bool suits_quantized_conv(const ConvShape& s, const PostOps& post) {
  if (s.spatial_axes != 2 || s.x().shape.count() == 0 || onednn::too_large(s)) return false;
  const bool depthwise = s.c == s.groups && s.k == s.groups;
  if (s.groups > 1 && !depthwise && (s.c / s.groups % 8 != 0 || s.k / s.groups % 8 != 0)) return false;
  const Activation::Kind kind = post.activation.kind;
  return kind == Activation::kNone || kind == Activation::kRelu || kind == Activation::kClippedRelu;
}

std::unique_ptr<Conv> plan_quantized_conv(const QuantizedConvRequest& request, Context& context) {
  std::string why;
  auto kernel =
      attempt(why, [&]() -> std::unique_ptr<ConvKernel> { return std::make_unique<OneDnn>(request, context); });
  if (!kernel) throw_internal("no kernel for a convolution of 8-bit integers: " + why);
  return std::make_unique<Conv>(ConvRequest{.shape = request.shape}, std::move(kernel), nullptr, nullptr);
}

}  // namespace cortado::kernels

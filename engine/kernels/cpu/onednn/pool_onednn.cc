// Pooling by oneDNN if its semantics match Caffe's: every maximum, averages divided by the full window area if no
// window exceeds the padded image, and averages without padding divided by the clipped area. Its maximum ignores NaN;
// if the input has one, our own kernel runs instead.

#include <cmath>
#include <optional>

#include "kernels/cpu/floats.h"
#include "kernels/cpu/largest_magnitude.h"
#include "kernels/cpu/onednn/onednn.h"
#include "kernels/pool.h"

namespace cortado::kernels {
namespace {

using namespace onednn;

/// By how much the last window exceeds the padded image; negative if it does not.
int64_t overhang(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t pad) {
  return (out - 1) * stride + kernel - in - 2 * pad;
}

int64_t overhang_h(const PoolRequest& r) {
  return overhang(r.x.shape[2], r.y.shape[2], r.kernel_h, r.stride_h, r.pad_h);
}
int64_t overhang_w(const PoolRequest& r) {
  return overhang(r.x.shape[3], r.y.shape[3], r.kernel_w, r.stride_w, r.pad_w);
}

/// The matching oneDNN algorithm; nullopt if none has Caffe's divisor.
std::optional<dnnl::algorithm> algorithm_of(const PoolRequest& r) {
  if (!r.average) return dnnl::algorithm::pooling_max;
  if (!r.count_padding || (r.pad_h == 0 && r.pad_w == 0)) return dnnl::algorithm::pooling_avg_exclude_padding;
  if (overhang_h(r) <= 0 && overhang_w(r) <= 0) return dnnl::algorithm::pooling_avg_include_padding;
  return {};
}

class OneDnn final : public Pool {
 public:
  explicit OneDnn(const PoolRequest& request) : request_(request) {}

  /// Returns false with the reason in `why` if the library has only a slow kernel.
  bool prepare(dnnl::algorithm algorithm, Context& context, std::string& why) {
    const PoolRequest& r = request_;
    const Shape &x = r.x.shape, &y = r.y.shape;
    const dnnl::memory::dims strides = {r.stride_h, r.stride_w}, kernel = {r.kernel_h, r.kernel_w}, dilation = {0, 0},
                             before = {r.pad_h, r.pad_w},
                             after = {std::max<int64_t>(0, r.pad_h + overhang_h(r)),
                                      std::max<int64_t>(0, r.pad_w + overhang_w(r))};
    Library& lib = library(context);
    const auto kind = r.backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    const Cut cut = cut_of(context, x[0], double(x.count()));
    for (int64_t i = 0; i < cut.pieces; ++i) {
      const auto part = [&](const TensorSpec& whole, const Shape& s) {
        return onednn::describe({{cut.size(i), s[1], s[2], s[3]}, whole.dtype, whole.layout});
      };
      const Desc from = part(r.x, x), to = part(r.y, y);
      const auto forward = describe_forward<PoolingForward>(lib.engine, user_scratchpad(), kind, algorithm, from, to,
                                                            strides, kernel, dilation, before, after);
      if (is_reference(impl_of(forward))) return why = "only a reference implementation", false;
      name_ = "onednn " + impl_of(forward);
      std::vector<Operand> operands = {{DNNL_ARG_SRC, from},
                                       {DNNL_ARG_DST, to},
                                       {DNNL_ARG_SCRATCHPAD, forward.scratchpad_desc(), Sharing::kScratch}};
      const Operand workspace{DNNL_ARG_WORKSPACE, has_workspace() ? forward.workspace_desc() : Desc(),
                              Sharing::kScratch};
      if (has_workspace()) operands.push_back(workspace);
      forward_.add(lib, PoolingForward(forward), operands);
      if (!r.backward) continue;
      const auto backward = describe_backward<PoolingBackward>(lib.engine, user_scratchpad(), forward, algorithm, from,
                                                               to, strides, kernel, dilation, before, after);
      if (is_reference(impl_of(backward))) return why = "only a reference implementation of backward", false;
      operands = {{DNNL_ARG_DIFF_DST, to},
                  {DNNL_ARG_DIFF_SRC, from},
                  {DNNL_ARG_SCRATCHPAD, backward.scratchpad_desc(), Sharing::kScratch}};
      if (has_workspace()) operands.push_back(workspace);
      backward_.add(lib, PoolingBackward(backward), operands);
    }
    return true;
  }

  std::string name() const override { return name_; }
  int64_t saved_bytes() const override { return has_workspace() ? forward_.bytes(3) : 0; }
  int64_t forward_scratch() const override { return forward_.bytes(2); }
  int64_t backward_scratch() const override { return backward_.bytes(2); }

  void forward(Context& context, const void* x, void* y, float*, void* saved, void* scratch) override {
    if (has_workspace())
      forward_.run(context, {x, y, scratch, saved});
    else
      forward_.run(context, {x, y, scratch});
    const bool has_nan =
        !request_.average && std::isnan(largest_magnitude(context, x, request_.x.dtype, request_.x.elements()));
    if (has_nan) maxima_of_nan(context, x, y);
  }
  void backward(Context& context, const void* dy, void* dx, const void* saved, void* scratch) override {
    if (has_workspace())
      backward_.run(context, {dy, dx, scratch, saved});
    else
      backward_.run(context, {dy, dx, scratch});
  }

 private:
  bool has_workspace() const { return request_.backward && !request_.average; }

  void maxima_of_nan(Context& context, const void* x, void* y) const {
    PoolRequest request = request_;
    request.backward = false;
    std::string why;
    const auto make = request.x.layout == Layout::kBlocked16 ? make_pool_native : make_pool_generic;
    make(request, context, why)->forward(context, x, y, nullptr, nullptr, nullptr);
  }

  PoolRequest request_;
  std::string name_;
  PrimitivePieces forward_, backward_;
};

}  // namespace

std::unique_ptr<Pool> make_pool_onednn(const PoolRequest& r, Context& context, std::string& why) {
  if (!takes(r.x.dtype, why)) return nullptr;
  const auto algorithm = algorithm_of(r);
  if (!algorithm) return why = "uses another divisor for windows that hang over the padding", nullptr;
  if (r.argmax) return why = "does not return argmax", nullptr;
  if (r.x.shape.count() == 0) return why = "no elements", nullptr;
  if (overhang_h(r) + r.pad_h >= r.kernel_h || overhang_w(r) + r.pad_w >= r.kernel_w)
    return why = "a window is outside the image", nullptr;
  return attempt(why, [&]() -> std::unique_ptr<Pool> {
    auto pool = std::make_unique<OneDnn>(r);
    if (pool->prepare(*algorithm, context, why)) return pool;
    return nullptr;
  });
}

}  // namespace cortado::kernels

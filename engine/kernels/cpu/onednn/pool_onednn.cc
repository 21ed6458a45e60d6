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

class OneDnn final : public Pool {
 public:
  OneDnn(const PoolRequest& request, Context& context, const PoolingForward::primitive_desc& forward,
         const PoolingBackward::primitive_desc* backward, bool has_workspace)
      : request_(request), name_("onednn " + impl_of(forward)), has_workspace_(has_workspace) {
    Library& lib = library(context);
    const Desc x = forward.src_desc(), y = forward.dst_desc(), scratch = forward.scratchpad_desc();
    forward_scratch_ = int64_t(scratch.get_size());
    std::vector<std::pair<int, Desc>> arguments = {
        {DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}, {DNNL_ARG_SCRATCHPAD, scratch}};
    if (has_workspace) {
      saved_ = int64_t(forward.workspace_desc().get_size());
      arguments.push_back({DNNL_ARG_WORKSPACE, forward.workspace_desc()});
    }
    forward_ = Primitive(lib, PoolingForward(forward), arguments);
    if (!backward) return;
    backward_scratch_ = int64_t(backward->scratchpad_desc().get_size());
    arguments = {{DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_DIFF_SRC, x}, {DNNL_ARG_SCRATCHPAD, backward->scratchpad_desc()}};
    if (has_workspace) arguments.push_back({DNNL_ARG_WORKSPACE, forward.workspace_desc()});
    backward_ = Primitive(lib, PoolingBackward(*backward), arguments);
  }

  std::string name() const override { return name_; }
  int64_t saved_bytes() const override { return saved_; }
  int64_t forward_scratch() const override { return forward_scratch_; }
  int64_t backward_scratch() const override { return backward_scratch_; }

  void forward(Context& context, const void* x, void* y, float*, void* saved, void* scratch) override {
    if (has_workspace_)
      forward_.run(library(context), {x, y, scratch, saved});
    else
      forward_.run(library(context), {x, y, scratch});
    const bool has_nan =
        !request_.average && std::isnan(largest_magnitude(context, x, request_.x.dtype, request_.x.elements()));
    if (has_nan) maxima_of_nan(context, x, y);
  }
  void backward(Context& context, const void* dy, void* dx, const void* saved, void* scratch) override {
    if (has_workspace_)
      backward_.run(library(context), {dy, dx, scratch, saved});
    else
      backward_.run(library(context), {dy, dx, scratch});
  }

 private:
  void maxima_of_nan(Context& context, const void* x, void* y) const {
    PoolRequest request = request_;
    request.backward = false;
    std::string why;
    const auto make = request.x.layout == Layout::kBlocked16 ? make_pool_native : make_pool_generic;
    make(request, context, why)->forward(context, x, y, nullptr, nullptr, nullptr);
  }

  PoolRequest request_;
  std::string name_;
  bool has_workspace_;
  int64_t saved_ = 0, forward_scratch_ = 0, backward_scratch_ = 0;
  Primitive forward_, backward_;
};

/// By how much the last window exceeds the padded image; negative if it does not.
int64_t overhang(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t pad) {
  return (out - 1) * stride + kernel - in - 2 * pad;
}

/// The matching oneDNN algorithm; nullopt if none has Caffe's divisor.
std::optional<dnnl::algorithm> algorithm_of(const PoolRequest& r, int64_t over_h, int64_t over_w) {
  if (!r.average) return dnnl::algorithm::pooling_max;
  if (!r.count_padding || (r.pad_h == 0 && r.pad_w == 0)) return dnnl::algorithm::pooling_avg_exclude_padding;
  if (over_h <= 0 && over_w <= 0) return dnnl::algorithm::pooling_avg_include_padding;
  return {};
}

}  // namespace

std::unique_ptr<Pool> make_pool_onednn(const PoolRequest& r, Context& context, std::string& why) {
  if (!takes(r.x.dtype, why)) return nullptr;
  const Shape &x = r.x.shape, &y = r.y.shape;
  const int64_t over_h = overhang(x[2], y[2], r.kernel_h, r.stride_h, r.pad_h);
  const int64_t over_w = overhang(x[3], y[3], r.kernel_w, r.stride_w, r.pad_w);
  const auto algorithm = algorithm_of(r, over_h, over_w);
  if (!algorithm) return why = "uses another divisor for windows that hang over the padding", nullptr;
  if (r.argmax) return why = "does not return argmax", nullptr;
  if (x.count() == 0) return why = "no elements", nullptr;
  if (over_h + r.pad_h >= r.kernel_h || over_w + r.pad_w >= r.kernel_w)
    return why = "a window is outside the image", nullptr;
  return attempt(why, [&]() -> std::unique_ptr<Pool> {
    Library& lib = library(context);
    const Desc from = describe(r.x), to = describe(r.y);
    const dnnl::memory::dims strides = {r.stride_h, r.stride_w}, kernel = {r.kernel_h, r.kernel_w}, dilation = {0, 0},
                             before = {r.pad_h, r.pad_w},
                             after = {std::max<int64_t>(0, r.pad_h + over_h), std::max<int64_t>(0, r.pad_w + over_w)};
    const auto kind = r.backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    const auto forward = describe_forward<PoolingForward>(lib.engine, user_scratchpad(), kind, *algorithm, from, to,
                                                          strides, kernel, dilation, before, after);
    if (is_reference(impl_of(forward))) return why = "only a reference implementation", nullptr;
    const bool workspace = r.backward && !r.average;
    if (!r.backward) return std::make_unique<OneDnn>(r, context, forward, nullptr, workspace);
    const auto backward = describe_backward<PoolingBackward>(lib.engine, user_scratchpad(), forward, *algorithm, from,
                                                             to, strides, kernel, dilation, before, after);
    if (is_reference(impl_of(backward))) return why = "only a reference implementation of backward", nullptr;
    return std::make_unique<OneDnn>(r, context, forward, &backward, workspace);
  });
}

}  // namespace cortado::kernels

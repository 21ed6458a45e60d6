// Softmax by oneDNN for contiguous classes; for others it has only a reference implementation.

#include "kernels/cpu/floats.h"
#include "kernels/cpu/onednn/onednn.h"
#include "kernels/softmax.h"

namespace cortado::kernels {
namespace {

using namespace onednn;

class OneDnn final : public Softmax {
 public:
  /// Returns false with the reason in `why` if the library has only a slow kernel.
  bool prepare(const SoftmaxRequest& r, Context& context, std::string& why) {
    Library& lib = library(context);
    const auto kind = r.backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    constexpr auto kAccurate = dnnl::algorithm::softmax_accurate;
    const Cut cut = cut_of(context, r.outer, double(r.outer * r.classes));
    for (int64_t i = 0; i < cut.pieces; ++i) {
      const Desc data = plain_desc({cut.size(i), r.classes});
      const auto forward =
          describe_forward<SoftmaxForward>(lib.engine, user_scratchpad(), kind, kAccurate, data, data, 1);
      if (is_reference(impl_of(forward))) return why = "only a reference implementation", false;
      name_ = "onednn " + impl_of(forward);
      forward_.add(lib, SoftmaxForward(forward),
                   {{DNNL_ARG_SRC, data},
                    {DNNL_ARG_DST, data},
                    {DNNL_ARG_SCRATCHPAD, forward.scratchpad_desc(), Sharing::kScratch}});
      if (!r.backward) continue;
      const auto backward =
          describe_backward<SoftmaxBackward>(lib.engine, user_scratchpad(), forward, kAccurate, data, data, data, 1);
      if (is_reference(impl_of(backward))) return why = "only a reference implementation of backward", false;
      backward_.add(lib, SoftmaxBackward(backward),
                    {{DNNL_ARG_DST, data},
                     {DNNL_ARG_DIFF_DST, data},
                     {DNNL_ARG_DIFF_SRC, data},
                     {DNNL_ARG_SCRATCHPAD, backward.scratchpad_desc(), Sharing::kScratch}});
    }
    return true;
  }

  std::string name() const override { return name_; }
  int64_t forward_scratch() const override { return forward_.bytes(2); }
  int64_t backward_scratch() const override { return backward_.bytes(3); }
  void forward(Context& context, const void* x, void* y, void* scratch) override {
    forward_.run(context, {x, y, scratch});
  }
  void backward(Context& context, const void* y, const void* dy, void* dx, void* scratch) override {
    backward_.run(context, {y, dy, dx, scratch});
  }

 private:
  std::string name_;
  PrimitivePieces forward_, backward_;
};

}  // namespace

std::unique_ptr<Softmax> make_softmax_onednn(const SoftmaxRequest& r, Context& context, std::string& why) {
  if (!takes(r.dtype, why)) return nullptr;
  if (r.inner != 1) return why = "the classes are not contiguous", nullptr;
  if (r.outer * r.classes == 0) return why = "no elements", nullptr;
  return attempt(why, [&]() -> std::unique_ptr<Softmax> {
    auto softmax = std::make_unique<OneDnn>();
    if (softmax->prepare(r, context, why)) return softmax;
    return nullptr;
  });
}

}  // namespace cortado::kernels

// Softmax by oneDNN for contiguous classes; for others it has only a reference implementation.

#include "kernels/cpu/floats.h"
#include "kernels/cpu/onednn/onednn.h"
#include "kernels/softmax.h"

namespace cortado::kernels {
namespace {

using namespace onednn;

class OneDnn final : public Softmax {
 public:
  OneDnn(Context& context, const Desc& data, const SoftmaxForward::primitive_desc& forward,
         const SoftmaxBackward::primitive_desc* backward)
      : name_("onednn " + impl_of(forward)), forward_scratch_(int64_t(forward.scratchpad_desc().get_size())) {
    Library& lib = library(context);
    forward_ =
        Primitive(lib, SoftmaxForward(forward),
                  {{DNNL_ARG_SRC, data}, {DNNL_ARG_DST, data}, {DNNL_ARG_SCRATCHPAD, forward.scratchpad_desc()}});
    if (!backward) return;
    backward_scratch_ = int64_t(backward->scratchpad_desc().get_size());
    backward_ = Primitive(lib, SoftmaxBackward(*backward),
                          {{DNNL_ARG_DST, data},
                           {DNNL_ARG_DIFF_DST, data},
                           {DNNL_ARG_DIFF_SRC, data},
                           {DNNL_ARG_SCRATCHPAD, backward->scratchpad_desc()}});
  }

  std::string name() const override { return name_; }
  int64_t forward_scratch() const override { return forward_scratch_; }
  int64_t backward_scratch() const override { return backward_scratch_; }
  void forward(Context& context, const void* x, void* y, void* scratch) override {
    forward_.run(library(context), {x, y, scratch});
  }
  void backward(Context& context, const void* y, const void* dy, void* dx, void* scratch) override {
    backward_.run(library(context), {y, dy, dx, scratch});
  }

 private:
  std::string name_;
  int64_t forward_scratch_, backward_scratch_ = 0;
  Primitive forward_, backward_;
};

}  // namespace

std::unique_ptr<Softmax> make_softmax_onednn(const SoftmaxRequest& r, Context& context, std::string& why) {
  if (!takes(r.dtype, why)) return nullptr;
  if (r.inner != 1) return why = "the classes are not contiguous", nullptr;
  if (r.outer * r.classes == 0) return why = "no elements", nullptr;
  return attempt(why, [&]() -> std::unique_ptr<Softmax> {
    Library& lib = library(context);
    const Desc data = plain_desc({r.outer, r.classes});
    const auto kind = r.backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    constexpr auto kAccurate = dnnl::algorithm::softmax_accurate;
    const auto forward =
        describe_forward<SoftmaxForward>(lib.engine, user_scratchpad(), kind, kAccurate, data, data, 1);
    if (is_reference(impl_of(forward))) return why = "only a reference implementation", nullptr;
    if (!r.backward) return std::make_unique<OneDnn>(context, data, forward, nullptr);
    const auto backward =
        describe_backward<SoftmaxBackward>(lib.engine, user_scratchpad(), forward, kAccurate, data, data, data, 1);
    if (is_reference(impl_of(backward))) return why = "only a reference implementation of backward", nullptr;
    return std::make_unique<OneDnn>(context, data, forward, &backward);
  });
}

}  // namespace cortado::kernels

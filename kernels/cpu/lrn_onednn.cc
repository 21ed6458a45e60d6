// Local response normalisation across channels by oneDNN, where it has a compiled kernel for both directions.

#include "kernels/cpu/onednn.h"
#include "kernels/lrn.h"

namespace cortado::kernels {
namespace {

using namespace onednn;

class OneDnn final : public Lrn {
 public:
  OneDnn(Context& context, const dnnl::lrn_forward::primitive_desc& forward,
         const dnnl::lrn_backward::primitive_desc* backward)
      : name_("onednn " + impl_of(forward)), forward_scratch_(int64_t(forward.scratchpad_desc().get_size())) {
    Library& lib = library(context);
    const Desc data = forward.src_desc(), workspace = forward.workspace_desc();
    saved_ = int64_t(workspace.get_size());
    std::vector<std::pair<int, Desc>> arguments = {
        {DNNL_ARG_SRC, data}, {DNNL_ARG_DST, data}, {DNNL_ARG_SCRATCHPAD, forward.scratchpad_desc()}};
    if (saved_) arguments.push_back({DNNL_ARG_WORKSPACE, workspace});
    forward_ = Primitive(lib, dnnl::lrn_forward(forward), arguments);
    if (!backward) return;
    backward_scratch_ = int64_t(backward->scratchpad_desc().get_size());
    arguments = {{DNNL_ARG_SRC, data}, {DNNL_ARG_DIFF_DST, data}, {DNNL_ARG_DIFF_SRC, data},
                 {DNNL_ARG_SCRATCHPAD, backward->scratchpad_desc()}};
    if (saved_) arguments.push_back({DNNL_ARG_WORKSPACE, workspace});
    backward_ = Primitive(lib, dnnl::lrn_backward(*backward), arguments);
  }

  std::string name() const override { return name_; }
  int64_t saved_bytes() const override { return saved_; }
  int64_t forward_scratch() const override { return forward_scratch_; }
  int64_t backward_scratch() const override { return backward_scratch_; }
  void forward(Context& context, const float* x, float* y, void* saved, void* scratch) override {
    if (saved_) forward_.run(library(context), {x, y, scratch, saved});
    else forward_.run(library(context), {x, y, scratch});
  }
  void backward(Context& context, const float* x, const float* dy, float* dx, const void* saved, void* scratch) override {
    if (saved_) backward_.run(library(context), {x, dy, dx, scratch, saved});
    else backward_.run(library(context), {x, dy, dx, scratch});
  }

 private:
  std::string name_;
  int64_t saved_ = 0, forward_scratch_, backward_scratch_ = 0;
  Primitive forward_, backward_;
};

}  // namespace

std::unique_ptr<Lrn> make_lrn_onednn(const LrnRequest& r, Context& context, std::string& why) {
  if (r.within_channel) return why = "its windows within a channel are another operation", nullptr;
  if (r.x.shape.count() == 0) return why = "no elements", nullptr;
  return attempt(why, [&]() -> std::unique_ptr<Lrn> {
    Library& lib = library(context);
    const Desc data = describe(r.x);
    const auto kind = r.backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    const auto across = dnnl::algorithm::lrn_across_channels;
    const dnnl::lrn_forward::primitive_desc forward(
        dnnl::lrn_forward::desc(kind, across, data, r.size, r.alpha, r.beta, r.k), user_scratchpad(), lib.engine);
    if (is_reference(impl_of(forward)) || impl_of(forward).find("ref") != std::string::npos)
      return why = "only a reference implementation", nullptr;
    if (!r.backward) return std::make_unique<OneDnn>(context, forward, nullptr);
    const dnnl::lrn_backward::primitive_desc backward(
        dnnl::lrn_backward::desc(across, data, data, r.size, r.alpha, r.beta, r.k), user_scratchpad(), lib.engine, forward);
    if (impl_of(backward).find("ref") != std::string::npos)
      return why = "only a reference implementation of backward", nullptr;
    return std::make_unique<OneDnn>(context, forward, &backward);
  });
}

}  // namespace cortado::kernels

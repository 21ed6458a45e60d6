// LRN: local response normalization, y = x / (k + alpha / n * sum of x^2 over n neighbours)^beta. Neighbours are
// local_size channels, or local_size x local_size positions of the same channel; there, as in Caffe, k is 1.
// Values outside x are zero.

#include "kernels/lrn.h"

#include "core/error.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class LrnLayer : public Layer {
 public:
  explicit LrnLayer(const LayerOptions& options) : options_(options.config.lrn_param()) {
    if (options_.local_size() % 2 == 0)
      throw FieldError("lrn_param.local_size",
                       "local_size is " + std::to_string(options_.local_size()) + ", but must be odd",
                       "set an odd size: the window is centred");
    if (options_.local_size() > INT32_MAX)
      throw FieldError("lrn_param.local_size",
                       "local_size is " + std::to_string(options_.local_size()) + ", which is too large");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (x[0].axes() != 4) throw FieldError("bottom[0]", "its shape is " + x[0].str() + "; LRN needs N x C x H x W");
    return {.y = {x[0]}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override {
    return {.layout = LayoutRule::kFollow, .type = TypeRule::kFollow};
  }

  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    kernels::LrnRequest lrn{.x = request.x[0]};
    lrn.within_channel = options_.norm_region() == caffe::LRNParameter::WITHIN_CHANNEL;
    lrn.size = options_.local_size();
    lrn.alpha = options_.alpha(), lrn.beta = options_.beta(), lrn.k = options_.k();
    lrn.backward = request.backward;
    lrn_ = kernels::plan_lrn(lrn, context);
    LayerNeeds needs;
    needs.backward_reads_x = {true};
    needs.forward_scratch = lrn_->forward_scratch();
    needs.backward_scratch = lrn_->backward_scratch();
    needs.algorithm = lrn_->name();
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    lrn_->forward(context, io.x[0].data, io.y[0].data, io.scratch);
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0]) lrn_->backward(context, io.x[0].data, io.dy[0].data, io.dx[0].data, io.scratch);
  }

  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override {
    const bool within = options_.norm_region() == caffe::LRNParameter::WITHIN_CHANNEL;
    const int64_t size = options_.local_size(),
                  reach = within ? std::min(size, x[0][2]) + std::min(size, x[0][3]) : std::min(size, x[0][1]);
    return x[0].count() * (2 * reach + 4);
  }

 private:
  const caffe::LRNParameter& options_;
  std::unique_ptr<kernels::Lrn> lrn_;
};

const RegisterLayer register_lrn({
    .name = "LRN",
    .help = "local response normalization, across channels or within one",
    .options = "lrn_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<LrnLayer>,
    .family = LayerFamily::kNorm,
});

}  // namespace

}  // namespace cortado

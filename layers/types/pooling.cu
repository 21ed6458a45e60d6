// Pooling: the maximum or the average of each window (layers/common/windows/pool_window.h) of the last two axes, or a
// random value of it (layers/types/stochastic_pooling.h); or of the last three axes, if x has five or kernel_size_3d is
// set (layers/types/volume_pooling.h), which also computes dilated windows. A second top of MAX holds the position h *
// W + w of each maximum, as a float.
//
// MAX applies the backward mask of a preceding ReLU: a maximum of 0 means that the ReLU blocked it, so dy = 0 where y
// is 0, in place. The ReLU's output then need not be kept.

#include "core/error.h"
#include "kernels/pool.h"
#include "layers/common/fusion_kinds.h"
#include "layers/common/loops/relu_mask.h"
#include "layers/common/windows/pool_window.h"
#include "layers/registry.h"
#include "layers/types/stochastic_pooling.h"
#include "layers/types/volume_pooling.h"

namespace cortado {

namespace {

using PoolingOptions = caffe::PoolingParameter;

class PoolingLayer : public Layer {
 public:
  explicit PoolingLayer(const LayerOptions& options)
      : options_(options.config.pooling_param()), window_(options_), argmax_(options.config.top_size() > 1) {
    if (argmax_ && options_.pool() != PoolingOptions::MAX)
      throw FieldError("top[1]", "only MAX supports a second top, the positions of the maxima");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    const Shape y = window_.infer(x[0]);
    return {.y = argmax_ ? std::vector<Shape>{y, y} : std::vector<Shape>{y}, .w = {}};
  }

  std::vector<Fusion> fusions(const FusionQuery&) const override {
    if (options_.pool() != PoolingOptions::MAX) return {};
    return {Fusion::reader(kReluMask)};
  }

  /// The position output needs plain layout and float: 16-bit floats cannot represent large indices.
  StorageRule storage(const kernels::PostOps&) const override {
    return {
        .layout = argmax_ ? LayoutRule::kPlain : LayoutRule::kFollow,
        .type = argmax_ ? TypeRule::kFloat : TypeRule::kFollow,
        .eight_bits = options_.pool() == PoolingOptions::MAX && !argmax_ ? EightBitRule::kFollow : EightBitRule::kNone};
  }

  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    kernels::PoolRequest pool{.x = request.x[0], .y = request.y[0]};
    pool.average = options_.pool() == PoolingOptions::AVE;
    pool.count_padding = options_.avg_include_pad();
    pool.kernel_h = window_.kernel.h, pool.kernel_w = window_.kernel.w;
    pool.stride_h = window_.stride.h, pool.stride_w = window_.stride.w;
    pool.pad_h = window_.pad.h, pool.pad_w = window_.pad.w;
    pool.backward = request.backward;
    pool.argmax = argmax_;
    pool_ = kernels::plan_pool(pool, context);
    masks_dy_ = find_fusion(request.fusions, kReluMask, Fusion::kReader);
    LayerNeeds needs;
    if (pool_->saved_bytes() > 0) needs.saved = {pool_->saved_bytes()};
    needs.aliasing.overwrites_dy = request.backward && masks_dy_;
    needs.backward_reads_y = {needs.aliasing.overwrites_dy};
    needs.forward_scratch = pool_->forward_scratch();
    needs.backward_scratch = pool_->backward_scratch();
    needs.algorithm = pool_->name();
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    pool_->forward(context, io.x[0].data, io.y[0].data, argmax_ ? io.y[1].f32() : nullptr, saved(io), io.scratch);
  }

  void backward(Context& context, const Operands& io) override {
    if (masks_dy_ && io.dy[0]) mask_by_relu(context, io.y[0], io.dy[0]);
    if (io.dx[0]) pool_->backward(context, io.dy[0].data, io.dx[0].data, saved(io), io.scratch);
  }

  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>& y) const override {
    return y[0].count() * std::min(window_.kernel.h, x[0][2]) * std::min(window_.kernel.w, x[0][3]);
  }

 private:
  static void* saved(const Operands& io) { return io.saved.empty() ? nullptr : io.saved[0]; }

  const PoolingOptions& options_;
  PoolWindow window_;
  bool argmax_;
  bool masks_dy_ = false;
  std::unique_ptr<kernels::Pool> pool_;
};

/// Pools volumes if x has five axes, with the same window along all three axes, and images otherwise.
class PoolingByShape : public Layer {
 public:
  explicit PoolingByShape(const LayerOptions& options)
      : options_(options), images_(std::make_unique<PoolingLayer>(options)) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    of_volumes_ = x[0].axes() == 5;
    if (of_volumes_ && !volumes_) volumes_ = make_volume_pooling(options_);
    return own().infer(x);
  }
  std::vector<Fusion> fusions(const FusionQuery& query) const override { return own().fusions(query); }
  StorageRule storage(const kernels::PostOps& post) const override { return own().storage(post); }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    return own().prepare(request, context);
  }
  void forward(Context& context, const Operands& io) override { own().forward(context, io); }
  void backward(Context& context, const Operands& io) override { own().backward(context, io); }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>& y) const override { return own().flops(x, y); }

 private:
  Layer& own() const { return of_volumes_ ? *volumes_ : *images_; }

  LayerOptions options_;
  std::unique_ptr<Layer> images_, volumes_;  ///< volumes_ is created on first use
  bool of_volumes_ = false;
};

bool has_one_window(const LayerOptions& options) {
  const PoolingOptions& o = options.config.pooling_param();
  const bool sides = o.has_kernel_h() || o.has_kernel_w() || o.has_stride_h() || o.has_stride_w() || o.has_pad_h() ||
                     o.has_pad_w() || o.stride_3d_size() > 0 || o.pad_3d_size() > 0 || o.has_kernel_depth() ||
                     o.has_temporal_stride() || o.has_temporal_pad();
  return o.has_kernel_size() && !sides && !o.global_pooling() && options.config.top_size() == 1;
}

std::unique_ptr<Layer> make_pooling(const LayerOptions& options) {
  const PoolingOptions& o = options.config.pooling_param();
  if (o.kernel_size_3d_size() > 0 || !pool_dilation(o).none()) return make_volume_pooling(options);
  if (o.pool() == PoolingOptions::STOCHASTIC) return make_stochastic_pooling(options);
  if (has_one_window(options)) return std::make_unique<PoolingByShape>(options);
  return std::make_unique<PoolingLayer>(options);
}

const RegisterLayer register_pooling({
    .name = "Pooling",
    .help = "the maximum or the average of each window, or a random value of it",
    .options = "pooling_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_pooling,
    .family = LayerFamily::kPooling,
});

}  // namespace

}  // namespace cortado

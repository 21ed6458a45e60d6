#include <algorithm>

#include "core/error.h"
#include "layers/common/weights/fixed_point.h"

namespace cortado {

namespace {

class FixedPointLayer : public Layer {
 public:
  FixedPointLayer(std::unique_ptr<Layer> inner, bool training) : inner_(std::move(inner)), training_(training) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    LayerShapes shapes = inner_->infer(x);
    shapes.w.push_back(fixed_point_weight());
    return shapes;
  }
  void check_without_shapes() const override { inner_->check_without_shapes(); }

  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    PrepareRequest own = request;
    own.frozen = own.updates_derived = false;  // the inner layer's weights change in each pass
    own.w.pop_back();
    own.wants_dw.pop_back();
    if (!own.w_formats.empty()) own.w_formats.pop_back();
    LayerNeeds needs = inner_->prepare(own, context);
    if (!needs.derived.empty() || needs.last_saved_for_y) throw_internal("a layer that needs more than its weights");
    floats_ = request.w[0].shape.count();
    if (!needs.w_formats.empty()) {
      floats_ = needs.w_formats[0].bytes() / kFloatBytes;
      needs.w_formats.emplace_back(request.w.back().shape);
    }
    needs.saved.push_back(floats_ * kFloatBytes);
    needs.can_recompute_y = false;
    needs.forward_scratch = std::max(needs.forward_scratch, fixed_point_scratch(floats_));
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    round_to_fixed_point(context, io.w[0].f32(), floats_, io.w.back().f32(), training_, io.scratch, rounded(io));
    inner_->forward(context, of_inner(io));
  }
  void backward(Context& context, const Operands& io) override { inner_->backward(context, of_inner(io)); }

  bool differentiable(int i) const override { return inner_->differentiable(i); }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>& y) const override { return inner_->flops(x, y); }

 private:
  static float* rounded(const Operands& io) { return static_cast<float*>(io.saved.back()); }

  /// The operands with q(w). Assigning them reuses memory.
  const Operands& of_inner(const Operands& io) {
    operands_ = io;
    operands_.w[0].data = rounded(io);
    operands_.w.pop_back();
    operands_.saved.pop_back();
    if (!operands_.dw.empty()) operands_.dw.pop_back();
    if (!operands_.add_dw.empty()) operands_.add_dw.pop_back();
    return operands_;
  }

  std::unique_ptr<Layer> inner_;
  bool training_;
  int64_t floats_ = 0;  ///< of the first weight in its format
  Operands operands_;
};

}  // namespace

std::unique_ptr<Layer> with_fixed_point_weights(std::unique_ptr<Layer> inner, const LayerOptions& options) {
  return std::make_unique<FixedPointLayer>(std::move(inner), options.phase == caffe::TRAIN);
}

}  // namespace cortado

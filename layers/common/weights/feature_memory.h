#pragma once

// What layers share that compare features with stored ones (online instance matching, Xiao et al. 2017). Bottoms are
// features N x D and labels; y[0] = x m^T, with the matrix m, a weight that solvers do not update:
//     dx = dy m, then m takes in features of this batch.
// As in the fork, m changes at the end of backward, so a net without backward leaves it as it is.

#include <memory>

#include "core/device/device_memory.h"
#include "core/error.h"
#include "core/loops/for_each.h"
#include "kernels/matmul.h"
#include "layers/common/shape_rules.h"
#include "layers/layer.h"

namespace cortado {

class FeatureMemory : public Layer {
 public:
  /// `stored` rows of m; `field` is their number's, and must not be 0.
  FeatureMemory(int64_t stored, const std::string& field, const std::string& hint) : stored_(stored) {
    if (stored == 0) throw FieldError(field, "it is missing or 0", hint);
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 1);
    samples_ = x[0][0], width_ = x[0].count(1);
    if (x[1].count() != samples_)
      throw FieldError("bottom[1]", "its shape is " + x[1].str() + ", but bottom[0] has " + std::to_string(samples_) +
                                        " rows: each needs a label");
    checked_mul(samples_, stored_);
    LayerShapes shapes{.y = {{samples_, stored_}}, .w = {}};
    shapes.w.push_back({.shape = {stored_, width_}, .filler = {}, .learned = false});
    return shapes;
  }

  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    const auto plan = [&](int64_t columns, int64_t inner, bool transpose) {
      return kernels::plan_matmul(
          {.shape = {.m = samples_, .n = columns, .k = inner, .transpose_b = transpose}, .count = 1}, context);
    };
    scores_ = plan(stored_, width_, true);
    if (request.backward) gradient_ = plan(width_, stored_, false);
    LayerNeeds needs;
    needs.backward_reads_x = {true, true};
    needs.forward_scratch = scores_->scratch();
    needs.backward_scratch = gradient_ ? gradient_->scratch() : 0;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    scores_->run(context, io.x[0].data, io.w[0].data, io.y[0].data, io.scratch);
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0] && io.dy[0])
      gradient_->run(context, io.dy[0].data, io.w[0].data, io.dx[0].data, io.scratch);
    else if (io.dx[0])
      clear_on_device(context, io.dx[0].data, size_t(io.dx[0].spec.bytes()));
    take_in(context, io);
  }

  bool differentiable(int i) const override { return i == 0; }
  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>& y) const override {
    return checked_mul(y[0].count(), 2 * width_);
  }

 protected:
  /// Updates the weights from x.
  virtual void take_in(Context& context, const Operands& io) = 0;

  int64_t samples_ = 0, stored_, width_ = 0;

 private:
  std::unique_ptr<kernels::MatMul> scores_, gradient_;
};

}  // namespace cortado
